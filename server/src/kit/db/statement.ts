// One statement's protocol messages and how its result is read. pg requests a result's columns every time, and
// prepares their parsers every time. Here, a prepared statement's columns are requested once per connection:
//
//   first time    Parse Bind Describe Execute Sync    the response describes the columns, then contains the rows
//   afterwards    Bind Execute Sync                   the response contains only the rows
//
// The columns can't change unnoticed, because PostgreSQL refuses to run a prepared statement whose result columns have
// changed ("cached plan must not change result type"). This does not apply to `fetch` and `execute`, so they must not
// have a name.
//
// This file uses internal fields of pg, so pg's version is pinned in package.json, and statement.test.ts fails if the
// fields change.
import pg from 'pg';

export type Callback = (error: Error | undefined, result: unknown) => void;

/** The part of pg's connection that queries use. pg's types omit it. */
export interface Connection {
  readonly parsedStatements: Readonly<Record<string, string | undefined>>;
  bind(portal: { statement: string; values?: readonly unknown[] | undefined }): void;
  execute(portal: object): void;
  sync(): void;
  sendCopyFromChunk(rows: Buffer): void;
  endCopyFrom(): void;
}

/** The fields of pg's result object that describe its columns. */
interface Columns {
  fields: unknown;
  _parsers: unknown;
  /** Copied for each row. */
  _prebuiltEmptyResultObject: unknown;
}

/** The columns of a connection's prepared statements, by statement name. */
export type KnownColumns = Map<string, Columns>;

interface RowDescription {
  readonly fields: readonly { readonly name: string }[];
}

/** pg's own query class. pg's types omit its fields and the methods that the protocol calls. */
const BaseQuery = pg.Query as unknown as new (
  text: string,
  values: readonly unknown[] | undefined,
  callback: Callback,
) => pg.Query & {
  name: string | undefined;
  readonly values: readonly unknown[] | undefined;
  readonly _result: Columns;
  _accumulateRows: boolean;
  requiresPreparation(): boolean;
  hasBeenParsed(connection: Connection): boolean;
  prepare(connection: Connection): void;
  handleRowDescription(message: RowDescription): void;
  handleCommandComplete(message: unknown, connection: Connection): void;
};

export class Statement extends BaseQuery {
  readonly #known: KnownColumns;
  #asksForColumns = false;

  /** `values` are already converted. Without a name, the statement is not prepared. */
  constructor(
    text: string,
    values: readonly unknown[] | undefined,
    name: string | undefined,
    known: KnownColumns,
    callback: Callback,
  ) {
    // Passes no configuration object, because pg copies its properties one by one, which takes longer than sending the
    // statement.
    super(text, values, callback);
    this.name = name;
    this.#known = known;
  }

  override prepare(connection: Connection): void {
    const { name } = this;
    // A statement that is parsed again may have different columns.
    const columns = name !== undefined && this.hasBeenParsed(connection) ? this.#known.get(name) : undefined;
    if (name === undefined || columns === undefined) {
      this.#asksForColumns = true;
      super.prepare(connection);
      return;
    }
    this._result.fields = columns.fields;
    this._result._parsers = columns._parsers;
    this._result._prebuiltEmptyResultObject = columns._prebuiltEmptyResultObject;
    this._accumulateRows = true;
    connection.bind({ statement: name, values: this.values });
    connection.execute({});
    connection.sync();
  }

  override handleRowDescription(message: RowDescription): void {
    super.handleRowDescription(message);
    this._result._prebuiltEmptyResultObject = createEmptyRow(message.fields);
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    if (this.name !== undefined && this.#asksForColumns) {
      const { fields, _parsers, _prebuiltEmptyResultObject } = this._result;
      this.#known.set(this.name, { fields, _parsers, _prebuiltEmptyResultObject });
    }
    super.handleCommandComplete(message, connection);
  }
}

/**
 * Returns an ordinary object, because V8 copies it much faster than pg's object, which has no prototype.
 * `Object.fromEntries` also handles a column named `__proto__`, whereas an assignment would replace the prototype
 * instead of adding a key.
 */
const createEmptyRow = (fields: RowDescription['fields']): object =>
  Object.fromEntries(fields.map(({ name }) => [name, null]));

/** Prepared by a connection's first transaction. */
export const begin = { name: 'begin', text: 'begin' };

/** A statement with a preceding `begin`. One ReadyForQuery ends the response to both. */
export class FirstStatement extends Statement {
  #hasBegun = false;

  override requiresPreparation(): boolean {
    return true; // a simple query can't follow without a Sync
  }

  override prepare(connection: Connection): void {
    connection.bind({ statement: begin.name });
    connection.execute({});
    super.prepare(connection);
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    if (this.#hasBegun) super.handleCommandComplete(message, connection);
    this.#hasBegun = true;
  }
}
