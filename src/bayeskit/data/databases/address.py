"""Where a database is, as a person writes it, and what of that may be shown: a password never is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote, unquote_plus

from bayeskit.errors import BayesError
from bayeskit.storage.files import HIDDEN, SECRETS, hide_secrets, invalid_ports

POSTGRES = ("postgresql", "postgres")
SQLITE_FILES, DUCKDB_FILES = (".sqlite", ".sqlite3", ".db", ".db3"), (".duckdb", ".ddb")


@dataclass(frozen=True)
class Address:
    """A database by its kind, by what its driver is told, and by what a person may be shown.

    >>> address = Address.of("postgresql://ann:secret@shop.example/sales?table=orders")
    >>> address
    Address(dialect='postgres', shown='postgresql://shop.example/sales', table='orders')
    >>> address.hide('FATAL: "secret" is wrong')
    'FATAL: "***" is wrong'
    """

    dialect: str
    driver: str = field(repr=False)
    shown: str
    table: str | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, text: str | Path) -> Address:
        """The address of a URI, or of the file of a database by how its name ends."""
        written = str(text)
        if is_address(written):
            return _postgres(written)
        ending = Path(written).suffix.lower()
        if ending in DUCKDB_FILES or ending in SQLITE_FILES:
            return cls("duckdb" if ending in DUCKDB_FILES else "sqlite", written, hide_secrets(written))
        raise BayesError(
            f"{hide_secrets(written)!r} is no database: give a connection, postgresql://host/name, or a file whose "
            f"name ends in {', '.join((*DUCKDB_FILES, *SQLITE_FILES))}"
        )

    def hide(self, message: str) -> str:
        """A driver's message without what is secret, in whatever form it is quoted."""
        for secret in self.secrets:
            message = message.replace(secret, HIDDEN)
        return message


def is_address(text: object) -> bool:
    """Whether this is the URI of a database, and no path."""
    return isinstance(text, str) and text.partition("://")[0] in POSTGRES and "://" in text


def is_database_file(path: object) -> bool:
    """Whether a file is a database, by how its name ends."""
    return isinstance(path, (str, Path)) and Path(str(path)).suffix.lower() in (*DUCKDB_FILES, *SQLITE_FILES)


def _postgres(text: str) -> Address:
    """What a driver is told, and what is shown. Passwords with signs that should be escaped are found all the same."""
    whole = text.partition("://")[2]
    signed_in = re.match("[^@/]*@", whole)  # as libpq reads it: up to there a question mark is part of a password
    start = signed_in.end() if signed_in else 0
    before, sign, query = whole[start:].partition("?")
    before = whole[:start] + before
    user, _, place = before.rpartition("@")
    written = [part.partition("=")[::2] for part in query.split("&")] if sign else []
    given = [(unquote_plus(name), value) for name, value in written]
    table = next((unquote_plus(value) for name, value in given if name == "table"), None)
    settings = "&".join(f"{name}={value}" for name, value in written if unquote_plus(name) != "table")
    passwords = [value for name, value in given if name.lower() in SECRETS]
    passwords += [user.partition(":")[2], *invalid_ports(place)]
    if "@" in query and not user:  # a slash and a question mark within a password, or an @ within the query
        passwords.append(whole.rpartition("@")[0].partition(":")[2])
    secrets = {piece for password in passwords for piece in _pieces(password)}
    driver = f"postgresql://{before}{'?' + settings if settings else ''}"
    address = Address("postgres", driver, "", table, tuple(sorted(secrets, key=len, reverse=True)))
    return replace(address, shown=hide_secrets(f"postgresql://{place if user else address.hide(place)}"))


def _pieces(password: str) -> set[str]:
    """A password as it may be quoted: as it was written, decoded, and cut where a driver takes it for something else.

    >>> sorted(_pieces("a%2Fb"))
    ['a', 'a%2Fb', 'a/b', 'b']
    """
    forms = {password, unquote(password), unquote_plus(password)}
    return {piece for form in forms for piece in (form, *re.split("[/?#@:&=]", form)) if piece}
