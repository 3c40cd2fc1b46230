// Runs queries over the platform's resources. Metrics come from simulated serving per day.
import { refuse } from './errors.ts';
import { type Condition, compare, matches, type Query } from './gaql.ts';
import { type DayMetrics, dayOf, serve, splitByTerm } from './serving.ts';
import { listTerms, metricFields, type Row, type RowContext, type Source, sources } from './sources.ts';
import type { Resource } from './state.ts';

/** Returns rows that contain only the selected fields. */
export function runQuery(query: Query, context: RowContext): object[] {
  const source = sources[query.from];
  if (source === undefined)
    throw refuse('queryError.BAD_RESOURCE_TYPE_IN_FROM_CLAUSE', `'${query.from}' is not a known resource.`);
  for (const field of [
    ...query.select,
    ...query.where.map((each) => each.field),
    ...query.orderBy.map((each) => each.field),
  ])
    checkField(source, field);
  const conditions = query.where.map((each) => (each.operator === 'DURING' ? resolvePreset(each, context) : each));
  const ofDay = conditions.filter(({ field }) => field === 'segments.date');
  const others = conditions.filter(({ field }) => field !== 'segments.date');
  const needsMetrics = [
    ...query.select,
    ...query.orderBy.map((each) => each.field),
    ...others.map((each) => each.field),
  ].some((field) => field.startsWith('metrics.') || field.startsWith('segments.'));
  const isSegmented = query.select.includes('segments.date');
  const rows = source
    .list(context)
    .flatMap((row) => (needsMetrics ? measure(context, row, query.from, ofDay, isSegmented) : [row]))
    .filter((row) => others.every((each) => matches(each, readField(row, each.field))));
  rows.sort((a, b) => {
    for (const { field, isDescending } of query.orderBy) {
      const order = compare(readField(a, field), readField(b, field));
      if (order !== 0) return isDescending ? -order : order;
    }
    return 0;
  });
  return rows.slice(0, query.limit).map((row) => select(row, query.select));
}

function checkField(source: Source, field: string): void {
  const [resource = '', ...path] = field.split('.');
  const known = source.fields[resource];
  if (known === undefined)
    throw refuse('queryError.PROHIBITED_RESOURCE_TYPE_IN_SELECT_CLAUSE', `'${resource}' can't be selected here.`);
  if (resource === 'metrics' && !known.includes(path.join('.')) && metricFields.includes(path.join('.')))
    throw refuse('queryError.PROHIBITED_METRIC_IN_SELECT_OR_WHERE_CLAUSE', `'${field}' can't be selected here.`);
  if (!known.includes(path.join('.'))) throw refuse('queryError.UNRECOGNIZED_FIELD', `Unrecognized field: '${field}'.`);
}

/** Adds the metrics: one row per day, or one row for all days. Days without metrics have no row. */
function measure(context: RowContext, row: Row, from: string, days: readonly Condition[], isSegmented: boolean): Row[] {
  const campaign = context.state.get(String(row.campaign?.resourceName));
  if (campaign === undefined) return [row];
  const timeZone = String(context.state.get(`customers/${context.customerId}`)?.timeZone);
  const budget = context.state.get(String(campaign.campaignBudget));
  const term = (row[from] as { searchTerm?: string } | undefined)?.searchTerm;
  const found = serve(campaign, budget, timeZone, context.now)
    .filter(({ date }) => days.every((each) => matches(each, date)))
    .flatMap((day) =>
      term === undefined
        ? [day]
        : splitByTerm(campaign, day, listTerms(context, campaign)).filter((each) => each.term === term),
    );
  if (isSegmented) return found.map((day) => ({ ...row, metrics: toJson(day), segments: { date: day.date } }));
  const total = found.reduce(add, { date: '', impressions: 0, clicks: 0, costMicros: 0, conversions: 0 });
  // Search terms without impressions have no row.
  return term !== undefined && total.impressions === 0 ? [] : [{ ...row, metrics: toJson(total) }];
}

const add = (a: DayMetrics, b: DayMetrics): DayMetrics => ({
  date: '',
  impressions: a.impressions + b.impressions,
  clicks: a.clicks + b.clicks,
  costMicros: a.costMicros + b.costMicros,
  conversions: a.conversions + b.conversions,
});

const toJson = ({ impressions, clicks, costMicros, conversions }: DayMetrics) => ({
  impressions: String(impressions),
  clicks: String(clicks),
  costMicros: String(costMicros),
  conversions,
});

const dayMs = 24 * 60 * 60 * 1000;
const presets: Readonly<Record<string, readonly [number, number]>> = {
  TODAY: [0, 0],
  YESTERDAY: [1, 1],
  LAST_7_DAYS: [7, 1],
  LAST_14_DAYS: [14, 1],
  LAST_30_DAYS: [30, 1],
};

function resolvePreset({ field, values: [preset = ''] }: Condition, context: RowContext): Condition {
  const range = presets[preset];
  if (range === undefined) throw refuse('queryError.INVALID_VALUE_WITH_DURING_OPERATOR', 'Unknown range of dates.');
  const timeZone = String(context.state.get(`customers/${context.customerId}`)?.timeZone);
  const values = range.map((days) => dayOf(new Date(context.now.getTime() - days * dayMs), timeZone));
  return { field, operator: 'BETWEEN', values };
}

const toCamel = (name: string) => name.replaceAll(/_([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase());

function readField(row: Row, field: string): unknown {
  const [resource = '', ...path] = field.split('.');
  return path.reduce<unknown>(
    (value, name) => (value as Record<string, unknown> | undefined)?.[toCamel(name)],
    row[resource],
  );
}

function select(row: Row, fields: readonly string[]): object {
  const result: Record<string, unknown> = {};
  for (const field of fields) {
    const [resource = ''] = field.split('.');
    const { resourceName } = (row[resource] ?? {}) as Partial<Resource>;
    // A resource's name is always included.
    if (resourceName !== undefined) write(result, [toCamel(resource), 'resourceName'], resourceName);
    write(result, field.split('.').map(toCamel), readField(row, field));
  }
  return result;
}

function write(target: Record<string, unknown>, [name = '', ...rest]: string[], value: unknown): void {
  if (value === undefined) return;
  if (rest.length === 0) {
    target[name] = value;
    return;
  }
  const inner = (target[name] ?? {}) as Record<string, unknown>;
  target[name] = inner;
  write(inner, rest, value);
}
