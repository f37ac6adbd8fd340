"""Types that clients write as strings: `@p4runtime_translation(uri, string)`. Sans I/O.

P4Runtime 1.4, section 18 "Translation of P4 Types": the server keeps the mapping. A string of decimal digits is that
number (so ports may be called by theirs); any other string gets the highest number that is still free.
"""

from __future__ import annotations

from cais_tools.p4rt import code_pb2, p4types_pb2
from cais_tools.switch.server.status import P4Error, invalid

__all__ = ["Translation", "Translations"]

_MOST = 1 << 16


class Translation:
    """The strings of one type. `width` is the data plane's, in bits; the P4Info does not have it, the program does."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.width = 32
        self._numbers: dict[str, int] = {}
        self._texts: dict[int, str] = {}

    def number(self, data: bytes, where: str) -> int:
        """The data plane's value for a string; from now on it is that. Raises P4Error."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise invalid(f"{where}: {data!r} is no text, and {self.name} is translated to strings") from None
        if not text:
            raise invalid(f"{where}: an empty string is no value")
        known = self._numbers.get(text)
        if known is not None:
            return known
        if len(self._numbers) >= _MOST:
            raise P4Error(code_pb2.RESOURCE_EXHAUSTED, f"{where}: {self.name} has {_MOST} values already")
        number = self._own(text, where) if text.isascii() and text.isdigit() else self._free(where)
        self._numbers[text] = number
        self._texts[number] = text
        return number

    def _own(self, text: str, where: str) -> int:
        number = int(text) if len(text) < 40 else 1 << self.width  # beyond any width
        if number >> self.width or str(number) != text:
            raise invalid(f"{where}: {text} is no number of {self.width} bits")
        if number in self._texts:
            raise P4Error(code_pb2.RESOURCE_EXHAUSTED, f"{where}: {text} already stands for {self._texts[number]!r}")
        return number

    def _free(self, where: str) -> int:
        number = (1 << self.width) - 1
        while number in self._texts:
            number -= 1
        if number < 0:
            raise P4Error(
                code_pb2.RESOURCE_EXHAUSTED, f"{where}: all {1 << self.width} values of {self.name} are taken"
            )
        return number

    def text(self, number: int) -> bytes:
        """The string for a value of the data plane; the number's digits where no client has given it one."""
        return self._texts.get(number, str(number)).encode()


class Translations:
    """One Translation for each type that needs it."""

    def __init__(self, types: p4types_pb2.P4TypeInfo) -> None:
        self._by_type = {
            name: Translation(name)
            for name, spec in types.new_types.items()
            if spec.translated_type.HasField("sdn_string")
        }

    def of(self, type_name: p4types_pb2.P4NamedType) -> Translation | None:
        return self._by_type.get(type_name.name)
