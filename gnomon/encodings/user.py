"""An encoding in a user's own file, named `path/to/file.py:Class`, or by the file alone where it defines one."""

from gnomon import user_code
from gnomon.encoding import Encoding
from gnomon.errors import OptionError, unknown


def load(name: str) -> type[Encoding]:
    """The class that `path/to/file.py:Class` names; without a class, the only encoding that the file itself defines.

    What is wrong with the file is a UserError naming its line.
    """
    path, kind = user_code.file_and_class(name)
    try:
        found = user_code.run(path, "an encoding")
    except TypeError as error:
        raise user_code.failed(error, path) from error
    classes = {
        key: value
        for key, value in found.items()
        if isinstance(value, type) and issubclass(value, Encoding) and value.__module__ == found["__name__"]
    }
    if not kind and len(classes) == 1:
        return next(iter(classes.values()))
    if not kind and not classes:
        raise OptionError("the file defines no encoding of its own", given=name, do=user_code.DO)
    if not kind:
        allowed = ", ".join(f"{path}:{key}" for key in classes) or None
        raise OptionError("say which class of the file is meant", given=name, allowed=allowed, do=user_code.DO)
    if kind not in found:
        raise unknown(f"encoding in {path}", kind, classes)
    if kind not in classes:
        asked = f"{kind} of {path} is no encoding defined there"
        raise OptionError(asked, given=repr(found[kind])[:100], do=user_code.DO)
    return classes[kind]
