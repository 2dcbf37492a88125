"""Where a database is, as a person writes it, and what of that may be shown: a password never is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from bayeskit.errors import BayesError

POSTGRES = ("postgresql", "postgres")
SQLITE_FILES, DUCKDB_FILES = (".sqlite", ".sqlite3", ".db", ".db3"), (".duckdb", ".ddb")
SECRETS = ("password", "sslpassword", "passfile")
HIDDEN = "***"


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
            return cls("duckdb" if ending in DUCKDB_FILES else "sqlite", written, written)
        raise BayesError(
            f"{_without_user(written)!r} is no database: give a connection, postgresql://host/name, or a file whose "
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
    try:
        parts = urlsplit(text)
        given = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        raise BayesError("this is no address of PostgreSQL: give postgresql://user@host:port/name?table=…") from None
    table = next((value for name, value in given if name == "table"), None)
    kept = [(name, value) for name, value in given if name != "table"]
    driver = urlunsplit(parts._replace(query=urlencode(kept, quote_via=quote)))
    secrets = {value for name, value in given if name.lower() in SECRETS and value}
    user = parts.netloc.rpartition("@")[0]
    if ":" in user and (password := user.partition(":")[2]):
        secrets |= {password, unquote(password)}
    shown = urlunsplit(SplitResult("postgresql", parts.netloc.rpartition("@")[2], parts.path, "", ""))
    ordered = tuple(sorted(secrets, key=len, reverse=True))
    return Address("postgres", driver, shown, table, ordered)


def _without_user(text: str) -> str:
    """An address of another kind, as it may be shown."""
    scheme, there, rest = text.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}" if there else text
