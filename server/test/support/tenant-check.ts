// Checks that each of the app's statements stays within one tenant. It parses the SQL and throws if a tenant table is
// read, updated or deleted without an equality on its tenant key:
//
//   select * from folders where workspace_id = $1                                       passes
//   select * from folders where id = $1                                                 throws: folders is not bound
//   select * from folders f join folder_items i on i.folder_id = f.id
//     where f.workspace_id = $1                                                         throws: i is not bound
//   … join folder_items i on i.workspace_id = f.workspace_id where f.workspace_id = $1  passes: i is bound through f
//
// A table is *bound* if its key equals a value or the key of another bound table. References that the check cannot
// resolve count as not bound.
import {
  type ColumnRef,
  type DeleteStmt,
  type InsertStmt,
  type JoinExpr,
  loadModule,
  type MergeStmt,
  type Node,
  parseSync,
  type RangeVar,
  type SelectStmt,
  type UpdateStmt,
  type WithClause,
} from 'libpg-query';
import type pg from 'pg';

const tenantColumns = ['workspace_id', 'app_id'];

// Tables whose keys are not simply their tenant columns. An empty list means that the table is not a tenant table,
// regardless of its columns.
const specialKeys = new Map<string, readonly string[]>([
  ['workspaces', ['id']], // the tenant itself
  ['apps', ['workspace_id', 'id']], // the tenant of an app's contents
  ['memberships', ['workspace_id', 'user_id']], // a person may read their own memberships
  ['credentials', ['workspace_id', 'user_id', 'id', 'hash']], // looked up before the caller is known
  ['users', []],
  ['idempotency_keys', []],
  ['migrations', []],
]);

// `users` is not a tenant table, but a table joined to it is bound only if one of these keys binds `users` to one
// person.
const singlePersonKeys = new Map([['users', ['id', 'email']]]);

// Exempt statements are marked with a leading comment. `lookup` means that core/auth reads by global id and decides in
// code, `service` means that a background job works for all tenants, and `operator` means that an operator sees the
// whole installation.
const exemption = /^\s*(\/\* (lookup|service) \*\/|select \/\* operator \*\/)/;

/** Verdicts by the database's tables. Cached, because a process's test files send many identical statements. */
const verdictsOfTables = new Map<string, Map<string, string | null>>();

/** Reads a migrated database's tables. The returned function throws if a statement has an unbound tenant table. */
export async function createTenantCheck(client: pg.ClientBase | pg.Pool): Promise<(text: string) => void> {
  await loadModule();
  const rows = await readColumns(client);
  const tables = new Map(rows.map(({ name, columns }) => [name, describeTable(name, columns)]));
  const key = JSON.stringify(rows);
  const verdicts = verdictsOfTables.get(key) ?? new Map<string, string | null>();
  verdictsOfTables.set(key, verdicts);
  return (text) => {
    let verdict = verdicts.get(text);
    if (verdict === undefined) {
      verdict = checkStatement(text, tables);
      verdicts.set(text, verdict);
    }
    if (verdict !== null) throw new Error(`tenant check: ${verdict}: ${text.slice(0, 300)}`);
  };
}

interface Table {
  readonly name: string;
  readonly columns: ReadonlySet<string>;
  /** An equality on one of these columns binds the table. */
  readonly keys: readonly string[];
  /** False if the table itself does not have to be bound (`users`). */
  readonly mustBind: boolean;
}

type Tables = ReadonlyMap<string, Table>;

async function readColumns(client: pg.ClientBase | pg.Pool): Promise<{ name: string; columns: string[] }[]> {
  const { rows } = await client.query<{ name: string; columns: string[] }>(`
    select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and a.attnum > 0 and not a.attisdropped
    group by c.relname order by c.relname`);
  return rows;
}

function describeTable(name: string, columns: readonly string[]): Table {
  const tenantKeys = specialKeys.get(name) ?? tenantColumns.filter((column) => columns.includes(column));
  const mustBind = tenantKeys.length > 0;
  return {
    name,
    columns: new Set(columns),
    keys: mustBind ? tenantKeys : (singlePersonKeys.get(name) ?? []),
    mustBind,
  };
}

/** Returns why the statement is rejected, or null if it is accepted. */
function checkStatement(text: string, tables: Tables): string | null {
  if (exemption.test(text)) return null;
  const reader = new StatementReader(tables);
  try {
    for (const { stmt } of parseSync(text).stmts ?? []) if (stmt !== undefined) reader.readStatement(stmt);
  } catch (error) {
    return `cannot be parsed (${(error as Error).message})`;
  }
  const unbound = reader.findUnbound();
  if (unbound?.table === undefined) return null;
  const { name, keys } = unbound.table;
  const alias = unbound.name === name ? '' : ` (as ${unbound.name})`;
  return `${name}${alias} has no predicate on its tenant key ${keys.join(' or ')}`;
}

/** An item in a FROM clause. */
interface Source {
  readonly name: string;
  /**
   * Undefined for a CTE, sub-select or function, whose contents are checked separately, and for tables in other
   * schemas.
   */
  readonly table?: Table;
  bound: boolean;
}

interface Condition {
  readonly node: Node;
  /** The sources whose rows the condition filters. Excludes the preserved side of an outer join. */
  readonly binds: readonly Source[];
}

/** `source` is bound if all of `by` are bound. */
interface Implication {
  readonly source: Source;
  readonly by: readonly Source[];
}

/** The names that are visible in one query. */
interface Scope {
  readonly outer?: Scope;
  readonly ctes: Set<string>;
  readonly sources: Source[];
  readonly conditions: Condition[];
  readonly implications: Implication[];
}

// Statements that contain a query. All others, except those handled in `readStatement`, are DDL, settings or
// transaction control.
const statementsWithQuery = new Set(['ExplainStmt', 'DeclareCursorStmt', 'PrepareStmt']);

/**
 * Reads a statement in two steps. The first finds every query's scope. The second finds the bound tables, from the
 * outermost query inwards.
 */
class StatementReader {
  readonly #tables: Tables;
  readonly #scopes: Scope[] = [];
  /** The scope in which each column reference is resolved. */
  readonly #scopeOfRef = new Map<ColumnRef, Scope>();

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  readStatement(node: Node): void {
    const [kind = ''] = Object.keys(node);
    if (this.#statement(node, undefined)) return;
    if (statementsWithQuery.has(kind)) this.#walk(node, this.#open(undefined));
    if ('TruncateStmt' in node) this.#enterAll(node.TruncateStmt.relations, this.#open(undefined));
    if ('CopyStmt' in node && !node.CopyStmt.is_from) {
      const scope = this.#open(undefined);
      if (node.CopyStmt.relation) this.#enterTable(node.CopyStmt.relation, scope);
      this.#walk(node, scope);
    }
  }

  findUnbound(): Source | undefined {
    for (const scope of this.#scopes) this.#bindSources(scope);
    return this.#scopes.flatMap((scope) => scope.sources).find((source) => source.table?.mustBind && !source.bound);
  }

  /** Reads the node if it is a statement. Returns whether it is a statement. */
  #statement(node: Node, outer: Scope | undefined): boolean {
    if ('SelectStmt' in node) this.#select(node.SelectStmt, outer);
    else if ('InsertStmt' in node) this.#insert(node.InsertStmt, outer);
    else if ('UpdateStmt' in node) this.#change(node.UpdateStmt, node.UpdateStmt.fromClause, outer);
    else if ('DeleteStmt' in node) this.#change(node.DeleteStmt, node.DeleteStmt.usingClause, outer);
    else if ('MergeStmt' in node) this.#merge(node.MergeStmt, outer);
    else return false;
    return true;
  }

  #select(select: SelectStmt, outer: Scope | undefined): void {
    const { withClause, larg, rarg, ...rest } = select;
    const around = this.#names(withClause, outer);
    if (larg) this.#select(larg, around);
    if (rarg) this.#select(rarg, around);
    const scope = this.#open(around);
    this.#enterAll(rest.fromClause, scope);
    this.#where(rest.whereClause, scope);
    this.#walk(rest, scope);
  }

  #change(
    change: Pick<UpdateStmt & DeleteStmt, 'withClause' | 'relation' | 'whereClause'>,
    others: readonly Node[] | undefined,
    outer: Scope | undefined,
  ): void {
    const { withClause, relation, ...rest } = change;
    const scope = this.#open(this.#names(withClause, outer));
    if (relation) this.#enterTable(relation, scope);
    this.#enterAll(others, scope);
    this.#where(rest.whereClause, scope);
    this.#walk(rest, scope);
  }

  /** A merge also affects rows that do not match its condition, so its condition binds nothing. */
  #merge(merge: MergeStmt, outer: Scope | undefined): void {
    this.#change(merge, merge.sourceRelation ? [merge.sourceRelation] : [], outer);
  }

  #insert(insert: InsertStmt, outer: Scope | undefined): void {
    const { withClause, relation, ...rest } = insert;
    const scope = this.#open(this.#names(withClause, outer));
    // A new row contains its key, and ON CONFLICT affects only rows with the same key.
    if (relation) this.#enterTable(relation, scope).bound = true;
    scope.sources.push({ name: 'excluded', bound: true });
    this.#walk(rest, scope);
  }

  /** Opens a scope with the statement's CTEs. Without RECURSIVE, a CTE sees only earlier CTEs. */
  #names(clause: WithClause | undefined, outer: Scope | undefined): Scope {
    const scope = this.#open(outer);
    const ctes = (clause?.ctes ?? []).flatMap((node) => ('CommonTableExpr' in node ? [node.CommonTableExpr] : []));
    if (clause?.recursive) for (const cte of ctes) scope.ctes.add(cte.ctename ?? '');
    for (const cte of ctes) {
      this.#walk(cte.ctequery, scope);
      scope.ctes.add(cte.ctename ?? '');
    }
    return scope;
  }

  #open(outer: Scope | undefined): Scope {
    const scope: Scope = { outer, ctes: new Set(outer?.ctes), sources: [], conditions: [], implications: [] };
    this.#scopes.push(scope);
    return scope;
  }

  /** Records the scope of each of the node's column references, and reads nested statements. */
  #walk(value: unknown, scope: Scope): void {
    if (Array.isArray(value)) for (const item of value) this.#walk(item, scope);
    else if (typeof value === 'object' && value !== null) {
      if (this.#statement(value as Node, scope)) return;
      if ('ColumnRef' in value) this.#scopeOfRef.set(value.ColumnRef as ColumnRef, scope);
      else for (const child of Object.values(value)) this.#walk(child, scope);
    }
  }

  #where(node: Node | undefined, scope: Scope): void {
    if (node !== undefined) scope.conditions.push({ node, binds: [...scope.sources] });
  }

  #enterAll(nodes: readonly Node[] | undefined, scope: Scope): void {
    for (const node of nodes ?? []) this.#enter(node, scope);
  }

  /** Adds a FROM item's sources to the scope, and returns them. */
  #enter(node: Node | undefined, scope: Scope): Source[] {
    if (node === undefined) return [];
    if ('RangeVar' in node) return [this.#enterTable(node.RangeVar, scope)];
    if ('JoinExpr' in node) return this.#enterJoin(node.JoinExpr, scope);
    if ('RangeTableSample' in node) return this.#enter(node.RangeTableSample.relation, scope);
    const [item] = Object.values(node) as { alias?: { aliasname?: string } }[];
    const source: Source = { name: item?.alias?.aliasname ?? '', bound: true };
    scope.sources.push(source);
    return [source];
  }

  #enterTable({ schemaname, relname = '', alias }: RangeVar, scope: Scope): Source {
    const isTable = schemaname === 'public' || (schemaname === undefined && !scope.ctes.has(relname));
    const known = isTable ? this.#tables.get(relname) : undefined;
    // An alias that renames columns, such as `folders f(id, workspace_id)`, hides which column is the key.
    const table = known && alias?.colnames ? { ...known, columns: new Set<string>() } : known;
    const source: Source = { name: alias?.aliasname ?? relname, table, bound: (table?.keys.length ?? 0) === 0 };
    scope.sources.push(source);
    return source;
  }

  #enterJoin(join: JoinExpr, scope: Scope): Source[] {
    const left = this.#enter(join.larg, scope);
    const right = this.#enter(join.rarg, scope);
    const binds: Source[] = [];
    if (join.jointype === 'JOIN_INNER' || join.jointype === 'JOIN_RIGHT') binds.push(...left);
    if (join.jointype === 'JOIN_INNER' || join.jointype === 'JOIN_LEFT') binds.push(...right);
    if (join.quals) scope.conditions.push({ node: join.quals, binds });
    for (const column of (join.usingClause ?? []).map(readName)) {
      const implications = [
        ...listUsingImplications(column, left, right),
        ...listUsingImplications(column, right, left),
      ];
      scope.implications.push(...implications.filter(({ source }) => binds.includes(source)));
    }
    return [...left, ...right];
  }

  /** Applies the implications until no more sources become bound. */
  #bindSources(scope: Scope): void {
    const implications = [
      ...scope.implications,
      ...scope.conditions.flatMap((condition) => this.#implications(condition, scope)),
    ];
    const next = () => implications.find(({ source, by }) => !source.bound && by.every((other) => other.bound));
    for (let implication = next(); implication !== undefined; implication = next()) implication.source.bound = true;
  }

  #implications({ node, binds }: Condition, scope: Scope): Implication[] {
    return listConjuncts(node)
      .flatMap(listEqualities)
      .flatMap(([left, right]) => {
        if (left === undefined || !('ColumnRef' in left)) return [];
        const found = resolve(left.ColumnRef, scope);
        if (found === undefined || !binds.includes(found.source)) return [];
        const by = isKey(found) ? this.#listSources(right, scope) : undefined;
        return by === undefined ? [] : [{ source: found.source, by }];
      });
  }

  /** Returns the visible sources that an expression uses. Undefined if one of them cannot be resolved. */
  #listSources(value: unknown, scope: Scope): Source[] | undefined {
    const visible = new Set<Source>();
    for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) for (const s of at.sources) visible.add(s);
    const refs = listColumnRefs(value).filter((ref) => !isBareStar(ref));
    const found = refs.map((ref) => resolve(ref, this.#scopeOfRef.get(ref) ?? scope)?.source);
    if (found.includes(undefined)) return undefined;
    return (found as Source[]).filter((source) => visible.has(source));
  }
}

const isKey = ({ source: { table }, column }: { source: Source; column: string }): boolean =>
  table?.keys.includes(column) === true && table.columns.has(column);

/** Lists the conditions that every row must meet. Excludes everything inside OR and NOT. */
const listConjuncts = (node: Node): Node[] =>
  'BoolExpr' in node && node.BoolExpr.boolop === 'AND_EXPR'
    ? (node.BoolExpr.args ?? []).flatMap(listConjuncts)
    : [node];

type Equality = readonly [left: Node | undefined, right: Node | undefined];

/** Recognises `a = b`, `a = any(b)`, `a in (b)` and `a in (select b)`, for single values and for rows. */
function listEqualities(node: Node): Equality[] {
  if ('SubLink' in node) {
    const { subLinkType, operName = [], testexpr, subselect } = node.SubLink;
    const isEqual = subLinkType === 'ANY_SUBLINK' && operName.every((name) => readName(name) === '=');
    return isEqual ? listParts(testexpr).map((part) => [part, subselect]) : [];
  }
  if (!('A_Expr' in node) || readName(node.A_Expr.name?.at(-1)) !== '=') return [];
  const { kind, lexpr, rexpr } = node.A_Expr;
  if (kind === 'AEXPR_OP') return [...pairParts(lexpr, rexpr), ...pairParts(rexpr, lexpr)];
  return kind === 'AEXPR_IN' || kind === 'AEXPR_OP_ANY' ? listParts(lexpr).map((part) => [part, rexpr]) : [];
}

function pairParts(left: Node | undefined, right: Node | undefined): Equality[] {
  const [lefts, rights] = [listParts(left), listParts(right)];
  return lefts.map((part, index) => [part, lefts.length === rights.length ? rights[index] : right]);
}

const listParts = (node: Node | undefined): readonly (Node | undefined)[] =>
  node !== undefined && 'RowExpr' in node ? (node.RowExpr.args ?? []) : [node];

const readName = (node: Node | undefined): string =>
  node !== undefined && 'String' in node ? (node.String.sval ?? '') : '*';

/** With USING, the column has the same value on both sides. */
const listUsingImplications = (column: string, to: readonly Source[], from: readonly Source[]): Implication[] =>
  to
    .filter((source) => isKey({ source, column }))
    .flatMap((source) => findOwners(from, column).map((other) => ({ source, by: [other] })));

function listColumnRefs(value: unknown): ColumnRef[] {
  if (Array.isArray(value)) return value.flatMap(listColumnRefs);
  if (typeof value !== 'object' || value === null) return [];
  return 'ColumnRef' in value ? [value.ColumnRef as ColumnRef] : Object.values(value).flatMap(listColumnRefs);
}

const isBareStar = (ref: ColumnRef): boolean => ref.fields?.length === 1 && readName(ref.fields[0]) === '*';

/**
 * Finds a column reference's source, from its scope outwards. Returns undefined if the reference is ambiguous or
 * unknown.
 */
function resolve(ref: ColumnRef, scope: Scope): { source: Source; column: string } | undefined {
  const names = (ref.fields ?? []).map(readName);
  const column = names.at(-1) ?? '';
  const qualifier = names.at(-2);
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
    const found =
      qualifier === undefined
        ? findOwners(at.sources, column)
        : at.sources.filter((source) => source.name === qualifier);
    const [source] = found;
    if (source !== undefined) return found.length === 1 ? { source, column } : undefined;
  }
  return undefined;
}

/**
 * Returns the sources that an unqualified column may belong to. PostgreSQL rejects ambiguous columns, so a table that
 * has the column is the only source. Otherwise the column belongs to a source whose columns are not known here.
 */
function findOwners(sources: readonly Source[], column: string): Source[] {
  const known = sources.filter((source) => source.table?.columns.has(column));
  if (known.length > 0) return known;
  return sources.filter((source) => source.table === undefined).slice(0, 1);
}
