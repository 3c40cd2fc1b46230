// The calls that run a string as SQL, or use an object as a query filter.
import ts from 'typescript';
import { type Sink, type SinkContext, sink, writtenTexts } from './sink.ts';
import { isFunction, partsOf, propertyOf, unwrap } from './syntax.ts';

const sqlText =
  /\b(select|insert\s+into|update|delete\s+from|where|order\s+by|limit|from|drop|alter|create\s+table|union|values|ilike|like|and|or)\b/i;

const takesSql =
  /^(query|queryRaw|execute|raw|unsafe|\$queryRawUnsafe|\$executeRawUnsafe|queryObject|queryArray|whereRaw|orderByRaw|havingRaw|selectRaw|joinRaw|fromRaw|orWhereRaw|andWhereRaw|literal|executeSql|runSql|executeQuery|many|one|oneOrNone|any|none|manyOrNone|sqlQuery)$/;

const maySql =
  /^(exec|prepare|all|get|run|each|batch|simpleQuery|multi|first|where|andWhere|orWhere|having|andHaving|addSelect|addOrderBy)$/;

export function sqlSinks(
  context: SinkContext,
  call: ts.CallExpression,
  name: string,
  method: string | undefined,
  first: ts.Expression,
): readonly Sink[] {
  const called = method ?? name;
  const filter =
    method !== undefined &&
    /^(or|filter|textSearch)$/.test(method) &&
    /\.(eq|ilike|like|neq|cs|in|gte?|lte?)\./.test(first.getText());
  if (filter) return sink('code.sql-injection', 'sql', first, { onlyParts: true, at: call });
  if (takesSql.test(called)) {
    const value = propertyOf(first, 'text') ?? propertyOf(first, 'sql') ?? propertyOf(first, 'query') ?? first;
    const bare = unwrap(value);
    if (isFunction(bare) || ts.isObjectLiteralExpression(bare)) return nosqlSinks(context, call, method, first);
    const needsText =
      /^(one|any|none|many|query|execute)$/.test(called) && partsOf(bare) === undefined && !ts.isIdentifier(bare);
    return needsText && !sqlText.test(bare.getText()) && !/sql|query/i.test(bare.getText())
      ? []
      : sink('code.sql-injection', 'sql', value, { at: call });
  }
  if (method === 'rpc') {
    const [, options] = call.arguments;
    return ['sql', 'query', 'statement', 'sql_query', 'query_text'].flatMap((field) =>
      sink('code.sql-injection', 'sql', propertyOf(options, field), { at: call, onlyParts: true }),
    );
  }
  const isCondition = /^(where|andWhere|orWhere|having|andHaving)$/.test(called) && comparison.test(first.getText());
  const isNamed = /sql|query|statement/i.test(called) && writtenTexts(context.flow, first).some(isStatement);
  if (isNamed) return sink('code.sql-injection', 'sql', first, { at: call, onlyParts: true });
  if (maySql.test(called) && method !== undefined && (isCondition || hasSqlText(context, first))) {
    return sink('code.sql-injection', 'sql', first, { at: call, onlyParts: true });
  }
  return nosqlSinks(context, call, method, first);
}

const sqlStatement =
  /\b(select|insert\s+into|update|delete\s+from|where|order\s+by|drop\s+table|create\s+table|alter\s+table|match\s*\()/i;

/** A comparison with an inserted value, such as `t.name = '${name}'`. */
const comparison = /(=|<|>|\b(like|ilike|in))\s*[('"%]*\s*(\$\{|['"]\s*\+)/i;

export const isStatement = (text: string): boolean =>
  /^[`'"]\s*(select\b[\s\S]*\bfrom|insert\s+into|update\b[\s\S]*\bset|delete\s+from)\b/i.test(text);

/** Whether the constant parts of a string look like SQL. */
const hasSqlText = ({ flow }: SinkContext, node: ts.Expression): boolean =>
  writtenTexts(flow, node).some((text) => sqlStatement.test(text));

const filterMethods =
  /^(find|findOne|findOneAndUpdate|findOneAndDelete|findOneAndReplace|updateOne|updateMany|deleteOne|deleteMany|countDocuments|replaceOne|distinct|aggregate)$/;

const mongo = /mongo|\.collection\(/i;

function nosqlSinks(
  { flow, module }: SinkContext,
  call: ts.CallExpression,
  method: string | undefined,
  first: ts.Expression,
): readonly Sink[] {
  if (!filterMethods.test(method ?? '')) return [];
  const sources = [module, ...module.imports.flatMap((path) => flow.program.open(path) ?? [])];
  if (!sources.some(({ source }) => mongo.test(source.text))) return [];
  if (isFunction(unwrap(first))) return [];
  return sink('code.nosql-injection', 'nosql', first, { at: call });
}
