// Tests the chart, and draws the image in docs/api/analytics.md (`npx vitest run PATH --update`).
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Chart, drawChart } from './chart.ts';
import { findBucketStart, intervals } from './intervals.ts';

const day = 24 * 60 * 60 * 1000;
const interval = intervals.find(({ name }) => name === '1d') ?? intervals[0];
const count = { name: 'orders', meaning: 'count', isAmount: true, total: 3 };
const range = { start: new Date('2026-11-12T12:00:00Z'), end: new Date('2026-11-15T12:00:00Z') };
const chart: Chart = { title: 'order_placed', range, interval, metrics: [count], buckets: [] };
const bucket = (date: string, metrics: Record<string, number | null>) => ({ start: `${date}T00:00:00.000Z`, metrics });

const countOf = (text: string, part: string | RegExp) => text.split(part).length - 1;

describe('a chart', () => {
  it('shows title, time, names, totals and values', () => {
    const svg = drawChart({
      ...chart,
      metrics: [{ ...count, name: 'revenue', meaning: 'sum of properties.total', total: 1234.5 }],
      buckets: [bucket('2026-11-12', { revenue: 1200 }), bucket('2026-11-14', { revenue: 34.5 })],
    });
    for (const text of [
      '>order_placed<',
      '2026-11-12 12:00 to 2026-11-15 12:00 UTC, in steps of 1d',
      '>revenue<',
      '>sum of properties.total<',
      '1,234.5',
      '<title>2026-11-12 00:00 UTC: 1,200</title>',
      '>1.2K<',
      '>34.5<',
      '>12 Nov<',
      '>15 Nov<',
      'prefers-color-scheme: dark',
    ])
      expect(svg).toContain(text);
    expect(countOf(svg, '<rect class="bar"')).toBe(2);
  });

  it('draws no mark where there is no value, and breaks a line there', () => {
    const average = { name: 'avg', meaning: 'avg of properties.total', isAmount: false, total: 2 };
    const buckets = [
      bucket('2026-11-12', { avg: 1 }),
      bucket('2026-11-13', { avg: null }),
      bucket('2026-11-14', { avg: 3 }),
      bucket('2026-11-15', { avg: 2 }),
    ];
    const svg = drawChart({ ...chart, metrics: [average], buckets });
    expect(countOf(svg, '<circle')).toBe(3);
    const [, path = ''] = /<path class="line" d="([^"]+)"/.exec(svg) ?? [];
    expect(countOf(path, 'M')).toBe(2);
    expect(drawChart(chart)).toContain('no values');
  });

  it('has only the text of callers that is escaped, and no character that XML forbids', () => {
    const hostile = `</text><script>alert(1)</script><a href="javascript:1" onclick='x'>&amp;\u0000\u0001\ufffe\ud800`;
    const metrics = [{ ...count, name: hostile, meaning: hostile }];
    const svg = drawChart({ ...chart, title: hostile, metrics, buckets: [bucket('2026-11-12', { [hostile]: 5 })] });
    const tags = new Set([...svg.matchAll(/<\/?([^\s>/]*)/g)].map(([, tag]) => tag));
    expect([...tags].toSorted()).toEqual('desc line rect style svg text title tspan'.split(' '));
    expect(svg).not.toMatch(/&(?!(amp|lt|gt|quot|#39);)/);
    for (const character of ['\0', '\u0001', '\ufffe']) expect(svg).not.toContain(character);
    expect(svg.isWellFormed()).toBe(true);
    expect(countOf(svg, '<rect class="bar"')).toBe(1);
  });

  it('has only finite coordinates, whatever the values', () => {
    const values = [0, -1, 5e-324, Number.MAX_VALUE, -Number.MAX_VALUE, Number.MAX_SAFE_INTEGER];
    const buckets = values.map((orders, at) => bucket(`2026-11-1${at}`, { orders }));
    for (const metrics of [[count], [{ ...count, isAmount: false }]]) {
      const svg = drawChart({ ...chart, range: { start: new Date('2026-11-10'), end: range.end }, metrics, buckets });
      expect(svg).not.toMatch(/NaN|Infinity/);
      expect(svg).not.toMatch(/(height|width|r)="-/);
    }
  });

  it('of documentation is as it is drawn now', async () => {
    const end = new Date('2026-11-15T10:00:00Z');
    const start = new Date(end.getTime() - 21 * day);
    const orders = [14, 18, 22, 19, 31, 0, 17, 21, 25, 29, 35, 42, 38, 24, 27, 33, 36, 44, 52, 47, 30, 21];
    const buckets = orders.flatMap((amount, at) => {
      const bucketStart = new Date(findBucketStart(start.getTime(), interval) + at * day).toISOString();
      const metrics = { orders: amount, customers: Math.ceil(amount * 0.7), average: 18 + ((at * 7) % 11) * 0.9 };
      return amount === 0 ? [] : [{ start: bucketStart, metrics }];
    });
    const metrics = [
      { ...count, total: orders.reduce((sum, each) => sum + each, 0) },
      { name: 'customers', meaning: 'count_unique of user_id', isAmount: true, total: 312 },
      { name: 'average', meaning: 'avg of properties.total', isAmount: false, total: 22.41 },
    ];
    const picture = new URL('../../../../../docs/images/events-over-time.svg', import.meta.url);
    await expect(drawChart({ ...chart, range: { start, end }, metrics, buckets })).toMatchFileSnapshot(
      fileURLToPath(picture),
    );
  });
});
