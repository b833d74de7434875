"""append prepare and cleanup on PostgreSQL."""

import harness
from prepare import Prepare


class Tables(Prepare, harness.Postgresql):
    def names(self, catalogue, column):
        names = self.sql(f"select {column} from {catalogue} where schemaname = 'public'")
        return set(names.split())

    def tables(self):
        return self.names("pg_tables", "tablename")

    def indexes(self):
        return self.names("pg_indexes", "indexname")


if __name__ == "__main__":
    harness.main()
