"""What tells one configuration from another: its settings, and a name of its own."""

from collections.abc import Mapping

Record = Mapping[str, object]


def flatten(tree: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """{"a": {"b": 1}} -> {"a.b": 1}."""
    flat: dict[str, object] = {}
    for key, value in tree.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return flat


def setting(record: Record) -> dict[str, object]:
    """The experiment without its seed, and without the place of its text, which its digest identifies."""
    experiment = {key: value for key, value in record["experiment"].items() if key != "seed"}
    return experiment | {"task": {key: value for key, value in experiment["task"].items() if key != "path"}}


def distinct(groups: list[list[Record]]) -> list[str]:
    """Distinct names: a label that two configurations share gets what tells them apart, 'rope · model.depth 4'."""
    given = [group[0]["label"] for group in groups]
    settings = [flatten(setting(group[0])) for group in groups]
    named = []
    for label, own in zip(given, settings):
        twins = [other for name, other in zip(given, settings) if name == label]
        apart = [key for key in own if any(other.get(key) != own[key] for other in twins)]
        named.append(" · ".join([label, *(f"{key} {str(own[key])[:16]}" for key in apart)]))
    return [name if named.count(name) == 1 else f"{name} · {group[0]['hash']}" for name, group in zip(named, groups)]
