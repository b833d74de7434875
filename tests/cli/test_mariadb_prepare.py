"""append prepare and cleanup on MariaDB."""

import harness
from prepare import Prepare


class Tables(Prepare, harness.Mariadb):
    def names(self, catalogue, column):
        names = self.sql(f"select distinct {column} from information_schema.{catalogue}"
                         " where table_schema = database()")
        return set(names.split())

    def tables(self):
        return self.names("tables", "table_name")

    def indexes(self):
        return self.names("statistics", "index_name")


if __name__ == "__main__":
    harness.main()
