"""From ``--app MODULE[:WORKER]`` to the worker, with what is wrong in the words of the user."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

from pgbpm.errors import ConfigError
from pgbpm.places import user_place
from pgbpm.worker import Worker


def load_worker(name: str) -> Worker:
    """The :class:`Worker` that ``module:attribute`` names (attribute ``worker`` if left out).

    Modules of the working directory are found. Raises :class:`ConfigError` with what is wrong,
    also for whatever the module itself raises.
    """
    module_name, _, attribute = name.partition(":")
    attribute = attribute or "worker"
    _check_name(name, module_name)
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    module = _import(name, module_name, here)
    worker = getattr(module, attribute, None)
    if not isinstance(worker, Worker):
        found = [key for key, value in vars(module).items() if isinstance(value, Worker)]
        hint = f"found: {', '.join(found)}" if found else "it must be a pgbpm.worker.Worker"
        raise ConfigError(f"--app {name}: {module_name} has no worker {attribute!r}", hint=hint)
    return worker


def _check_name(name: str, module_name: str) -> None:
    if module_name.endswith(".py"):
        module = module_name.removesuffix(".py")
        better = name.replace(module_name, module.replace("/", ".").lstrip("."), 1)
        raise ConfigError(f"--app {name}: that is a file, not a module", hint=f"write {better}")
    if not module_name or not all(part.isidentifier() for part in module_name.split(".")):
        raise ConfigError(
            f"--app {name}: {module_name!r} is no name of a module",
            hint="write MODULE or MODULE:WORKER",
        )


def _import(name: str, module_name: str, here: str) -> ModuleType:
    try:
        return importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise _fault(name, module_name, here, error) from error


def _fault(name: str, module_name: str, here: str, error: BaseException) -> ConfigError:
    place = user_place(error)
    at = f"{place}: " if place else ""
    if isinstance(error, SyntaxError):
        return ConfigError(f"--app {name}: {at}{error.msg}", hint="mend the file, then try again")
    if isinstance(error, ModuleNotFoundError):
        if error.name and f"{module_name}.".startswith(f"{error.name}."):
            return ConfigError(
                f"--app {name}: {error.msg}", hint=f"looked in {here} and the installed packages"
            )
        hint = f"install it, or put it into {here}"
        return ConfigError(f"--app {name}: {at}{error.msg}", hint=hint)
    what = f"{type(error).__qualname__}: {error}"
    return ConfigError(f"--app {name}: {at}{what}", hint=f"importing {module_name} must not fail")
