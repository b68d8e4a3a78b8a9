"""A courier client without courier: calls an object of this process, as strictly."""

import concurrent.futures
import traceback
import types
from collections.abc import Callable
from typing import Any


class InProcessClient:
    """Calls the public methods of an object, each in a thread, as a server would.

    Holds to what courier does: a call with an array among its arguments, which courier
    never answers, is refused, and an exception arrives without its class.

    Attributes:
        address: What a message calls it.
    """

    def __init__(self, instance: Any, address: str = "in process") -> None:
        """Keeps the object, which must be thread-safe."""
        self.address = address
        self._instance = instance
        self._executor = concurrent.futures.ThreadPoolExecutor(16)  # As courier.

    @property
    def futures(self) -> "_AsyncClient":
        """Has the methods, each returning a future."""
        return _AsyncClient(self._submit)

    def __getattr__(self, method: str) -> Callable[..., Any]:
        """Returns the method; it waits for its result."""
        if method.startswith("_"):
            raise AttributeError(method)
        return lambda *args, **kwargs: self._submit(method, args, kwargs).result()

    def _submit(
        self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> concurrent.futures.Future:
        _check_sendable([args, kwargs])
        return self._executor.submit(self._run, method, args, kwargs)

    def _run(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return getattr(self._instance, method)(*args, **kwargs)
        except Exception:
            raise RuntimeError(traceback.format_exc()) from None


class Unavailable(Exception):
    """What courier raises where the server is gone, with its code."""

    code = types.SimpleNamespace(name="UNAVAILABLE")
    """As gRPC has it: only the name matters."""


class FlakyClient(InProcessClient):
    """Reaches an object, or fails as a test says.

    Attributes:
        calls: Names of the methods that were called.
        fails: Called with the name before each call. Returns how that fails: with an
            exception, with a future that never ends, or not (None).
    """

    def __init__(self, instance: Any, address: str = "in process") -> None:
        """See `InProcessClient`."""
        super().__init__(instance, address)
        self.calls: list[str] = []
        self.fails: Callable[[str], Failure | None] = lambda method: None

    def fail_once(self, method: str, failure: "Failure") -> None:
        """Lets the next call of a method fail."""

        def fails(called: str) -> Failure | None:
            if called != method:
                return None
            self.fails = lambda called: None
            return failure

        self.fails = fails

    def _submit(
        self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> concurrent.futures.Future:
        self.calls.append(method)
        failure = self.fails(method)
        if failure is None:
            return super()._submit(method, args, kwargs)
        if isinstance(failure, concurrent.futures.Future):
            return failure
        failed: concurrent.futures.Future = concurrent.futures.Future()
        failed.set_exception(failure)
        return failed


Failure = Exception | concurrent.futures.Future
"""How a call of `FlakyClient` fails."""


class _AsyncClient:
    """Turns attribute access into calls that return futures."""

    def __init__(self, submit: Callable[..., concurrent.futures.Future]) -> None:
        self._submit = submit

    def __getattr__(self, method: str) -> Callable[..., concurrent.futures.Future]:
        if method.startswith("_"):
            raise AttributeError(method)
        return lambda *args, **kwargs: self._submit(method, args, kwargs)


def _check_sendable(value: Any) -> None:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            _check_sendable(part)
    elif value is not None and type(value) not in (bool, bytes, float, int, str):
        raise TypeError(
            f"A courier call with {type(value).__name__} among its arguments may never "
            "return: pass bytes, str, int, float, bool, and lists or dicts of those."
        )
