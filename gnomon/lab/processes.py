"""The processes that make one run together: what each does by itself, what they tell each other, how a failure ends it.

A process that fails, and so does not come to where the others wait for it, leaves them waiting for hours. So whatever
can fail is done `apart`, and after it all are told whether any has failed; only then do they exchange what was found.
That is why a model is not wrapped in torch's DistributedDataParallel: it exchanges gradients in the midst of a backward
pass, where nobody can be told of a failure. What that would save, the time of an exchange that computing hides, is
little for models of one bucket of gradients. No process group has to be given up for a run that fails: the next run has
it.

What is told is told over gloo, since that needs no device, which may be what has failed. Where an exchange itself
fails, nobody knows any more what the others do: `Torn`, and the launch ends. Whoever launched it ends the processes
left.
"""

import atexit
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, distributed, nn

from gnomon import user_code
from gnomon.errors import StoreError, UserError

PATIENCE = timedelta(hours=12)
"""How long the processes of a launch wait for the main one, which measures alone."""


class Elsewhere(UserError):
    """Another process of the launch has failed, and the run with it."""


class Torn(UserError):
    """The processes of the launch have lost each other."""

    def __init__(self, error: BaseException):
        super().__init__(
            "the processes of the launch have lost each other",
            given=f"{type(error).__name__}: {' '.join(str(error).split())}",
            do="run the same command again: what is done is not made again, what failed only with --retry",
        )


class Processes:
    """Those of a launch, or one alone, which has nobody to tell. All call the same in the same order."""

    def __init__(self, accelerator: Accelerator):
        self.device = accelerator.device
        self.count, self.index, self.main = (
            accelerator.num_processes,
            accelerator.process_index,
            accelerator.is_main_process,
        )
        self._told = _channel() if self.count > 1 else None
        self._failed: BaseException | None = None

    @contextmanager
    def apart(self) -> Iterator[None]:
        """What each does by itself. Where any fails, all leave by an error: their own, or `Elsewhere`.

        A StoreError ends all runs, so it is one everywhere.
        """
        if self.count == 1:
            yield
            return
        failed = None
        try:
            with user_code.told_of_all():
                yield
        except Torn:
            raise
        except Exception as error:
            failed = error
        [any_failed] = self.any(failed is not None)
        if not any_failed:
            return
        told = self._all(None if failed is None else _portable(failed))
        self._failed = failed or self._elsewhere(told)
        raise self._failed

    @contextmanager
    def together(self, *expected: type[Exception]) -> Iterator[None]:
        """What is raised in here, but `apart` or as `expected`, one process alone knows of: `Torn`."""
        try:
            yield
        except Torn:
            raise
        except Exception as error:
            if self.count == 1 or error is self._failed or isinstance(error, expected):
                raise
            raise Torn(error) from error

    def any(self, *flags: bool) -> list[bool]:
        """Of each flag, whether it is set in any process."""
        if self.count == 1:
            return list(flags)
        found = torch.tensor([int(flag) for flag in flags])
        with _exchange():
            distributed.all_reduce(found, group=self._told)
        return [bool(number) for number in found]

    def told(self, value: Any) -> Any:
        """What the main process has."""
        return value if self.count == 1 else self._all(value)[0]

    def average(self, values: Tensor) -> Tensor:
        """The mean over processes, in place."""
        if self.count > 1:
            with _exchange():
                distributed.all_reduce(values)
            values /= self.count
        return values

    def packed(self, parameters: Sequence[nn.Parameter], loss: Tensor) -> Tensor:
        """The gradients of all parameters, and the loss, in one row, `[numbers + 1]`: one exchange."""
        if self.count == 1:
            return loss
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        return torch.cat([*(gradient.reshape(-1) for gradient in gradients), loss.reshape(1)])

    def unpacked(self, row: Tensor, parameters: Sequence[nn.Parameter], used: Sequence[bool]) -> Tensor:
        """Put the gradients of `packed` where they belong; the loss, `[]`.

        A parameter that no process has used is left without one, as where one process trains alone.
        """
        if self.count == 1:
            return row
        *gradients, loss = row.split([*(p.numel() for p in parameters), 1])
        for parameter, gradient, has in zip(parameters, gradients, used, strict=True):
            parameter.grad = gradient.view_as(parameter).to(parameter.dtype) if has else None
        return loss[0]

    def spread(self, tensors: Iterable[Tensor]) -> None:
        """Give all what the main process has, in place: bytes, so that it is the same to the bit."""
        if self.count == 1:
            return
        for tensor in tensors:
            held = tensor.detach().reshape(-1).clone().view(torch.uint8)
            with _exchange():
                distributed.broadcast(held, 0)
            tensor.detach().copy_(held.view(tensor.dtype).view_as(tensor))

    def gathered(self, tensor: Tensor) -> Tensor:
        """The rows of all processes, one after another."""
        if self.count == 1:
            return tensor
        found = [torch.empty_like(tensor, memory_format=torch.contiguous_format) for _ in range(self.count)]
        with _exchange():
            distributed.all_gather(found, tensor.contiguous())
        return torch.cat(found)

    def _all(self, value: Any) -> list[Any]:
        found: list[Any] = [None] * self.count
        with _exchange():
            distributed.all_gather_object(found, value, group=self._told)
        return found

    def _elsewhere(self, told: Sequence[tuple | None]) -> UserError:
        index, (of_store, *said) = next((i, each) for i, each in enumerate(told) if each is not None)
        if of_store:
            asked, given, allowed, do = said
            return StoreError(asked, given=given, allowed=allowed, do=do)
        return Elsewhere(f"process {index} of {self.count} failed: {said[0]}")


@cache
def _channel() -> distributed.ProcessGroup | None:
    """The group over which processes tell each other what is no tensor of a device; None: the one that there is."""
    atexit.register(_leave)
    if distributed.get_backend() == "gloo":
        return None
    return distributed.new_group(backend="gloo", timeout=PATIENCE)


def _leave() -> None:
    if distributed.is_initialized():
        distributed.destroy_process_group()


@contextmanager
def _exchange() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        atexit.unregister(_leave)  # which would wait for them again
        raise Torn(error) from error


def _portable(error: Exception) -> tuple:
    """Whether it is a StoreError, and what an error says, as other processes are told."""
    if isinstance(error, StoreError):
        return (
            True,
            error.asked,
            *(None if part is None else str(part) for part in (error.given, error.allowed, error.do)),
        )
    return False, reason(error)


def reason(error: BaseException) -> str:
    """Why a run has failed, as its record says it."""
    return str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
