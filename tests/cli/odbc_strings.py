"""Connection strings for the URLs of the tests."""

import re

DRIVERS = {"postgresql": "PostgreSQL Unicode", "mariadb": "MariaDB Unicode", "sqlite": "SQLite3"}


def parts(url):
    """Returns the keys and values of a connection string for a URL."""
    scheme, user, host, port, database = re.fullmatch(
        r"(\w+)://([^@]*)@([^:]*):(\d+)/(\w*)", url).groups()
    return {"Driver": "{" + DRIVERS[scheme] + "}", "Server": host, "Port": port,
            "Database": database, "UID": user}


def string(keys, **more):
    return "odbc:" + "".join(f"{key}={value};" for key, value in {**keys, **more}.items())
