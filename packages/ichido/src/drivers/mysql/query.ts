/** Options that mysql2 and mariadb take with a single statement, so that none of the pool's own settings changes the rows. */
export interface MysqlQuery {
  readonly sql: string;
  readonly namedPlaceholders: false;
  readonly rowsAsArray: false;
  readonly nestTables: false;
  /** Of mariadb alone. */
  readonly metaAsArray: false;
  readonly typeCast: <T>(column: unknown, next: () => T) => T;
}

export function queryOf(sql: string): MysqlQuery {
  return {
    sql,
    namedPlaceholders: false,
    rowsAsArray: false,
    nestTables: false,
    metaAsArray: false,
    typeCast: (_, next) => next(),
  };
}
