// Owns the tests' proof that every statement the product sends stays inside one tenant: a tenant table that is read,
// updated or deleted without a predicate on its tenant key is refused. Sees only the text, so it fails closed.
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

// Where a table's keys are not just the tenant columns it has. An empty list: not a tenant table, whatever its columns.
const specialKeys = new Map<string, readonly string[]>([
  ['workspaces', ['id']], // it is the tenant
  ['apps', ['workspace_id', 'id']], // it is the tenant of what an app holds
  ['memberships', ['workspace_id', 'user_id']], // a person may read their own
  ['credentials', ['workspace_id', 'user_id', 'id', 'hash']], // found before it is known who asks, and where
  ['users', []],
  ['idempotency_keys', []],
  ['migrations', []],
]);

// People are nobody's tenant, but a table joined to them is only as narrow as they are: by these they are one person.
const narrowing = new Map([['users', ['id', 'email']]]);

// reach: access finds by global id in its one look-up, and decides in code. service: a background job serves every tenant
// in turn. operator: who runs the installation sees all of it. Nothing else that answers a request may say any of these.
const exemption = /^\s*(\/\* (reach|service) \*\/|select \/\* operator \*\/)/;

/** Reads the tenant tables of a migrated database. What it gives throws at the first statement that is not bound. */
export async function tenantCheck(client: pg.ClientBase | pg.Pool): Promise<(text: string) => void> {
  await loadModule();
  const tables = await readTables(client);
  const verdicts = new Map<string, string | null>();
  return (text) => {
    let verdict = verdicts.get(text);
    if (verdict === undefined) {
      verdict = verdictOn(text, tables);
      verdicts.set(text, verdict);
    }
    if (verdict !== null) throw new Error(`tenant check: ${verdict}: ${text.slice(0, 300)}`);
  };
}

interface Table {
  readonly name: string;
  readonly columns: ReadonlySet<string>;
  /** An equality on any of these binds the table. */
  readonly keys: readonly string[];
  /** False where the keys only matter to what is joined to it. */
  readonly mustBind: boolean;
}

type Tables = ReadonlyMap<string, Table>;

async function readTables(client: pg.ClientBase | pg.Pool): Promise<Tables> {
  const { rows } = await client.query<{ name: string; columns: string[] }>(`
    select c.relname as name, array_agg(a.attname::text) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and a.attnum > 0 and not a.attisdropped
    group by c.relname`);
  return new Map(rows.map(({ name, columns }) => [name, tableOf(name, columns)]));
}

function tableOf(name: string, columns: readonly string[]): Table {
  const tenantKeys = specialKeys.get(name) ?? tenantColumns.filter((column) => columns.includes(column));
  const mustBind = tenantKeys.length > 0;
  return { name, columns: new Set(columns), keys: mustBind ? tenantKeys : (narrowing.get(name) ?? []), mustBind };
}

/** What is wrong with the statement, or null. */
function verdictOn(text: string, tables: Tables): string | null {
  if (exemption.test(text)) return null;
  const reading = new Reading(tables);
  try {
    for (const { stmt } of parseSync(text).stmts ?? []) if (stmt !== undefined) reading.topLevel(stmt);
  } catch (error) {
    return `cannot be parsed (${(error as Error).message})`;
  }
  const loose = reading.firstUnbound();
  if (loose?.table === undefined) return null;
  const { name, keys } = loose.table;
  const alias = loose.name === name ? '' : ` (as ${loose.name})`;
  return `${name}${alias} has no predicate on its tenant key ${keys.join(' or ')}`;
}

interface Source {
  readonly name: string;
  /** None for a CTE, sub-select or function, whose inside is checked by itself, and for other schemas. */
  readonly table?: Table;
  bound: boolean;
}

interface Condition {
  readonly node: Node;
  /** The sources whose rows this condition takes away: not the kept side of an outer join. */
  readonly binds: readonly Source[];
}

/** Says that `source` is bound as soon as all of `by` are. */
interface Claim {
  readonly source: Source;
  readonly by: readonly Source[];
}

/** One query's names: what it selects from, and what surrounds it. */
interface Scope {
  readonly outer?: Scope;
  readonly ctes: Set<string>;
  readonly sources: Source[];
  readonly conditions: Condition[];
  readonly claims: Claim[];
}

// These hold a query that runs. Beside them and what `topLevel` names there is DDL, settings, transaction control.
const carriers = new Set(['ExplainStmt', 'DeclareCursorStmt', 'PrepareStmt']);

/** One text, read in two steps: every query's scope first, then, outside in, which of its tables are bound. */
class Reading {
  readonly #tables: Tables;
  readonly #scopes: Scope[] = [];
  /** Where each column reference stands, so that one inside a sub-select is resolved from there. */
  readonly #places = new Map<ColumnRef, Scope>();

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  topLevel(node: Node): void {
    const [kind = ''] = Object.keys(node);
    if (this.#statement(node, undefined)) return;
    if (carriers.has(kind)) this.#walk(node, this.#open(undefined));
    if ('TruncateStmt' in node) this.#enterAll(node.TruncateStmt.relations, this.#open(undefined));
    if ('CopyStmt' in node && !node.CopyStmt.is_from) {
      const scope = this.#open(undefined);
      if (node.CopyStmt.relation) this.#enterTable(node.CopyStmt.relation, scope);
      this.#walk(node, scope);
    }
  }

  firstUnbound(): Source | undefined {
    for (const scope of this.#scopes) this.#settle(scope);
    return this.#scopes.flatMap((scope) => scope.sources).find((source) => source.table?.mustBind && !source.bound);
  }

  /** True when the node is a statement, which has been read then. */
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

  /** A merge also acts on rows its condition does not match, so nothing binds its tables. */
  #merge(merge: MergeStmt, outer: Scope | undefined): void {
    this.#change(merge, merge.sourceRelation ? [merge.sourceRelation] : [], outer);
  }

  #insert(insert: InsertStmt, outer: Scope | undefined): void {
    const { withClause, relation, ...rest } = insert;
    const scope = this.#open(this.#names(withClause, outer));
    // A new row brings its key along, and ON CONFLICT meets only the row that equals it.
    if (relation) this.#enterTable(relation, scope).bound = true;
    scope.sources.push({ name: 'excluded', bound: true });
    this.#walk(rest, scope);
  }

  /** A scope with the statement's CTEs. Without RECURSIVE a CTE sees only those before it, and never itself. */
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
    const scope: Scope = { outer, ctes: new Set(outer?.ctes), sources: [], conditions: [], claims: [] };
    this.#scopes.push(scope);
    return scope;
  }

  /** Notes every column reference below, and reads every statement. */
  #walk(value: unknown, scope: Scope): void {
    if (Array.isArray(value)) for (const item of value) this.#walk(item, scope);
    else if (typeof value === 'object' && value !== null) {
      if (this.#statement(value as Node, scope)) return;
      if ('ColumnRef' in value) this.#places.set(value.ColumnRef as ColumnRef, scope);
      else for (const child of Object.values(value)) this.#walk(child, scope);
    }
  }

  #where(node: Node | undefined, scope: Scope): void {
    if (node !== undefined) scope.conditions.push({ node, binds: [...scope.sources] });
  }

  #enterAll(nodes: readonly Node[] | undefined, scope: Scope): void {
    for (const node of nodes ?? []) this.#enter(node, scope);
  }

  /** Adds what a FROM item brings to the scope, and gives it. */
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
    // An alias that renames columns, `folders f(id, workspace_id)`, leaves none to go by.
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
    for (const column of (join.usingClause ?? []).map(textOf)) {
      const claims = [...claimsOfUsing(column, left, right), ...claimsOfUsing(column, right, left)];
      scope.claims.push(...claims.filter(({ source }) => binds.includes(source)));
    }
    return [...left, ...right];
  }

  /** Binds what the claims allow, until no more follows: a join passes on what one side has, and makes nothing. */
  #settle(scope: Scope): void {
    const claims = [...scope.claims, ...scope.conditions.flatMap((condition) => this.#claims(condition, scope))];
    const next = () => claims.find(({ source, by }) => !source.bound && by.every((other) => other.bound));
    for (let claim = next(); claim !== undefined; claim = next()) claim.source.bound = true;
  }

  #claims({ node, binds }: Condition, scope: Scope): Claim[] {
    return conjuncts(node)
      .flatMap(equalities)
      .flatMap(([left, right]) => {
        if (left === undefined || !('ColumnRef' in left)) return [];
        const found = resolve(left.ColumnRef, scope);
        if (found === undefined || !binds.includes(found.source)) return [];
        const by = isKey(found) ? this.#mentioned(right, scope) : undefined;
        return by === undefined ? [] : [{ source: found.source, by }];
      });
  }

  /** The sources of this scope and those around it that an expression is made from; undefined when one is unknown. */
  #mentioned(value: unknown, scope: Scope): Source[] | undefined {
    const visible = new Set<Source>();
    for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) for (const s of at.sources) visible.add(s);
    const refs = columnRefs(value).filter((ref) => !isBareStar(ref));
    const found = refs.map((ref) => resolve(ref, this.#places.get(ref) ?? scope)?.source);
    if (found.includes(undefined)) return undefined;
    return (found as Source[]).filter((source) => visible.has(source));
  }
}

const isKey = ({ source: { table }, column }: { source: Source; column: string }): boolean =>
  table?.keys.includes(column) === true && table.columns.has(column);

/** Only what every row must meet: nothing inside an OR or a NOT. */
const conjuncts = (node: Node): Node[] =>
  'BoolExpr' in node && node.BoolExpr.boolop === 'AND_EXPR' ? (node.BoolExpr.args ?? []).flatMap(conjuncts) : [node];

type Equality = readonly [left: Node | undefined, right: Node | undefined];

/** `a = b`, `a = any(b)`, `a in (b)` and `a in (select b)`, of single values and of rows. */
function equalities(node: Node): Equality[] {
  if ('SubLink' in node) {
    const { subLinkType, operName = [], testexpr, subselect } = node.SubLink;
    const isEqual = subLinkType === 'ANY_SUBLINK' && operName.every((name) => textOf(name) === '=');
    return isEqual ? parts(testexpr).map((part) => [part, subselect]) : [];
  }
  if (!('A_Expr' in node) || textOf(node.A_Expr.name?.at(-1)) !== '=') return [];
  const { kind, lexpr, rexpr } = node.A_Expr;
  if (kind === 'AEXPR_OP') return [...paired(lexpr, rexpr), ...paired(rexpr, lexpr)];
  return kind === 'AEXPR_IN' || kind === 'AEXPR_OP_ANY' ? parts(lexpr).map((part) => [part, rexpr]) : [];
}

function paired(left: Node | undefined, right: Node | undefined): Equality[] {
  const [lefts, rights] = [parts(left), parts(right)];
  return lefts.map((part, index) => [part, lefts.length === rights.length ? rights[index] : right]);
}

const parts = (node: Node | undefined): readonly (Node | undefined)[] =>
  node !== undefined && 'RowExpr' in node ? (node.RowExpr.args ?? []) : [node];

const textOf = (node: Node | undefined): string =>
  node !== undefined && 'String' in node ? (node.String.sval ?? '') : '*';

/** USING: the column is equal on both sides. */
const claimsOfUsing = (column: string, to: readonly Source[], from: readonly Source[]): Claim[] =>
  to
    .filter((source) => isKey({ source, column }))
    .flatMap((source) => holders(from, column).map((other) => ({ source, by: [other] })));

function columnRefs(value: unknown): ColumnRef[] {
  if (Array.isArray(value)) return value.flatMap(columnRefs);
  if (typeof value !== 'object' || value === null) return [];
  return 'ColumnRef' in value ? [value.ColumnRef as ColumnRef] : Object.values(value).flatMap(columnRefs);
}

const isBareStar = (ref: ColumnRef): boolean => ref.fields?.length === 1 && textOf(ref.fields[0]) === '*';

/** The source a column reference belongs to, from its scope outwards. Undefined when that cannot be told. */
function resolve(ref: ColumnRef, scope: Scope): { source: Source; column: string } | undefined {
  const names = (ref.fields ?? []).map(textOf);
  const column = names.at(-1) ?? '';
  const qualifier = names.at(-2);
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
    const found =
      qualifier === undefined ? holders(at.sources, column) : at.sources.filter((source) => source.name === qualifier);
    const [source] = found;
    if (source !== undefined) return found.length === 1 ? { source, column } : undefined;
  }
  return undefined;
}

/**
 * Who an unqualified column may belong to. PostgreSQL refuses an ambiguous one, so a table known to have it is the
 * one; else it is of a source whose columns are not known here.
 */
function holders(sources: readonly Source[], column: string): Source[] {
  const known = sources.filter((source) => source.table?.columns.has(column));
  if (known.length > 0) return known;
  return sources.filter((source) => source.table === undefined).slice(0, 1);
}
