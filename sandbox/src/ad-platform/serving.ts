// Simulates serving: a campaign's daily metrics while it is enabled and has a budget. The metrics depend only on the
// campaign and the day, so repeated reads agree. The cost never exceeds the budget.
import { createHash } from 'node:crypto';
import type { Resource } from './state.ts';

export interface DayMetrics {
  readonly date: string;
  readonly impressions: number;
  readonly clicks: number;
  readonly costMicros: number;
  readonly conversions: number;
}

interface StatusChange {
  readonly at: string;
  readonly status: string;
}

const hourMs = 60 * 60 * 1000;

/** Returns a number from 0 to 1 that is always the same for the same parts. */
export function draw(...parts: readonly (string | number)[]): number {
  return createHash('sha256').update(parts.join('|')).digest().readUInt32BE(0) / 0xffffffff;
}

/** The date in a time zone, such as `2026-11-16`. */
export function dayOf(time: Date, timeZone: string): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(time);
}

/**
 * Computes the metrics from the first enabled day until now, by the hour. A campaign paused at noon gets half a day.
 */
export function serve(campaign: Resource, budget: Resource | undefined, timeZone: string, now: Date): DayMetrics[] {
  const hours = countEnabledHours(campaign._statuses as readonly StatusChange[], timeZone, now);
  const budgetMicros = Number(budget?.amountMicros ?? 0);
  const lastDay = endOf(campaign);
  return [...hours]
    .filter(([date]) => date <= lastDay)
    .map(([date, enabled]) => toMetrics(campaign, date, Math.min(1, enabled / 24), budgetMicros));
}

/** The campaign's last day. Days are compared as strings. */
export const endOf = ({ endDateTime }: Resource): string => String(endDateTime ?? '9999').slice(0, 10);

function countEnabledHours(statuses: readonly StatusChange[], timeZone: string, now: Date): Map<string, number> {
  const hours = new Map<string, number>();
  statuses.forEach(({ at, status }, index) => {
    if (status !== 'ENABLED') return;
    const end = Math.min(now.getTime(), Date.parse(statuses[index + 1]?.at ?? now.toISOString()));
    for (let from = Date.parse(at); from < end; from += hourMs) {
      const date = dayOf(new Date(from), timeZone);
      hours.set(date, (hours.get(date) ?? 0) + Math.min(hourMs, end - from) / hourMs);
    }
  });
  return hours;
}

function toMetrics(campaign: Resource, date: string, part: number, budgetMicros: number): DayMetrics {
  const id = campaign.resourceName;
  const costMicros = Math.floor(budgetMicros * part * (0.6 + 0.4 * draw(id, date, 'cost')));
  const clickMicros = 300_000 + Math.floor(700_000 * draw(id, 'price'));
  const clicks = Math.floor(costMicros / clickMicros);
  return {
    date,
    costMicros: clicks === 0 ? 0 : costMicros,
    clicks,
    impressions: Math.floor(clicks * (12 + 30 * draw(id, date, 'rate'))),
    conversions: Math.floor(clicks * 0.2 * draw(id, date, 'conversions')),
  };
}

/** Splits a day's metrics by search term. The sums never exceed the campaign's metrics. */
export function splitByTerm(
  campaign: Resource,
  day: DayMetrics,
  terms: readonly string[],
): (DayMetrics & { term: string })[] {
  const weights = terms.map((term) => 0.2 + draw(campaign.resourceName, term));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return terms.map((term, index) => {
    const share = (figure: number) => Math.floor((figure * (weights[index] ?? 0)) / total);
    return {
      term,
      date: day.date,
      impressions: share(day.impressions),
      clicks: share(day.clicks),
      costMicros: share(day.costMicros),
      conversions: share(day.conversions),
    };
  });
}
