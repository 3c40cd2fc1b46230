// Draws metrics over time as an SVG image, with one panel per metric and a shared time axis. The image contains
// no scripts and no external references, and all its text is escaped.
import { scaleLinear, scaleUtc } from 'd3-scale';
import { line } from 'd3-shape';
import { countBuckets, findBucketStart, type Interval, type TimeRange } from './intervals.ts';

export interface ChartMetric {
  readonly name: string;
  /** What the metric measures, such as `avg of properties.price`. */
  readonly meaning: string;
  /** Amounts are drawn as bars, and other values, such as averages, as a line. */
  readonly isAmount: boolean;
  readonly total: number | null;
}

export interface Chart {
  readonly title: string;
  readonly range: TimeRange;
  readonly interval: Interval;
  readonly metrics: readonly ChartMetric[];
  readonly buckets: readonly ChartBucket[];
}

interface ChartBucket {
  readonly start: string;
  readonly metrics: Readonly<Record<string, number | null>>;
}

const width = 760;
const margin = { left: 60, right: 32, top: 58, bottom: 38 };
const plot = { width: width - margin.left - margin.right, height: 104, heading: 56 };
const panelHeight = plot.heading + plot.height;
/** If there are more buckets than this, only the largest value is labelled. */
const maxLabels = 14;
const maxTimeTicks = 10;
const dayMs = 24 * 60 * 60 * 1000;

export function drawChart(chart: Chart): string {
  const { title, metrics } = chart;
  const height = margin.top + metrics.length * panelHeight + margin.bottom;
  const axis = createTimeAxis(chart);
  const summary = metrics.map(({ name, total }) => `${name}: ${formatValue(total)} in total`).join('; ');
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title desc">`,
    `<title id="title">${escapeText(title)}</title>`,
    `<desc id="desc">${escapeText(`${describeRange(chart)}. ${summary}.`)}</desc>`,
    `<style>${style}</style>`,
    `<rect class="paper" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    `<text class="title" x="${margin.left}" y="32">${escapeText(shorten(title, 70))}</text>`,
    `<text class="note" x="${margin.left}" y="51">${escapeText(describeRange(chart))}</text>`,
    ...metrics.map((metric, at) => drawPanel(chart, metric, axis, margin.top + at * panelHeight)),
    drawTimeAxis(chart, axis, height - margin.bottom),
    '</svg>',
  ].join('\n');
}

const style = `
svg { --paper: #ffffff; --edge: #e0e2e8; --text: #1c1f26; --note: #5c6370; --grid: #eceef2; --mark: #3563e9; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #16181d; --edge: #31353f; --text: #eef0f4; --note: #a2a9b6; --grid: #282c35; --mark: #7da2ff; }
}
text { font: 11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: var(--note); }
.paper { fill: var(--paper); stroke: var(--edge); }
.title { font-size: 17px; font-weight: 600; fill: var(--text); }
.note { font-size: 12px; }
.name { font-size: 13px; font-weight: 600; fill: var(--text); }
.total { font-size: 13px; font-weight: 600; fill: var(--text); text-anchor: end; font-variant-numeric: tabular-nums; }
.plain { font-size: 12px; font-weight: 400; fill: var(--note); }
.y { text-anchor: end; font-variant-numeric: tabular-nums; }
.x, .value, .empty { text-anchor: middle; }
.value { fill: var(--text); }
.grid { stroke: var(--grid); }
.tick { stroke: var(--note); stroke-opacity: 0.6; }
.zero { stroke: var(--note); stroke-opacity: 0.6; }
.bar { fill: var(--mark); }
.line { fill: none; stroke: var(--mark); stroke-width: 2; stroke-linejoin: round; }
.dot { fill: var(--mark); }
`;

/** The axis covers whole buckets, so the first and last buckets are as wide as the others. */
function createTimeAxis({ range, interval }: Chart) {
  const start = findBucketStart(range.start.getTime(), interval);
  return scaleUtc()
    .domain([start, start + countBuckets(range, interval) * interval.sizeMs])
    .range([margin.left, margin.left + plot.width]);
}
type TimeAxis = ReturnType<typeof createTimeAxis>;

/** One metric's value, drawn in the middle of its bucket. Buckets without a value have no mark. */
interface Mark {
  readonly start: Date;
  readonly x: number;
  readonly value: number;
}

function drawPanel(chart: Chart, metric: ChartMetric, axis: TimeAxis, top: number): string {
  const marks = listMarks(chart, metric, axis);
  const values = marks.map(({ value }) => value);
  const [zeroY, topY] = [top + panelHeight, top + plot.heading];
  const highest = Math.max(0, ...values);
  const y = scaleLinear()
    .domain([Math.min(0, ...values), highest === 0 ? 1 : highest])
    .nice(3)
    .range([zeroY, topY]);
  const draw = metric.isAmount ? drawBars : drawLine;
  return [
    `<text class="name" x="${margin.left}" y="${top + 30}">${escapeText(shorten(metric.name, 34))}<tspan class="plain" dx="8">${escapeText(shorten(metric.meaning, 40))}</tspan></text>`,
    `<text class="total" x="${width - margin.right}" y="${top + 30}"><tspan class="plain">overall </tspan>${escapeText(formatValue(metric.total))}</text>`,
    ...(marks.length === 0 ? [0] : y.ticks(3)).map((tick) => drawGridLine(tick, y(tick))),
    ...(marks.length === 0
      ? [`<text class="empty" x="${margin.left + plot.width / 2}" y="${topY + plot.height / 2}">no values</text>`]
      : draw(marks, y, chart.interval, axis)),
    ...drawLabels(marks, y),
  ].join('\n');
}
type ValueAxis = ReturnType<typeof scaleLinear<number, number>>;

function listMarks({ buckets, interval }: Chart, { name }: ChartMetric, axis: TimeAxis): Mark[] {
  return buckets.flatMap(({ start, metrics }) => {
    const value = metrics[name];
    if (typeof value !== 'number') return [];
    const from = new Date(start);
    return [{ start: from, x: axis(from.getTime() + interval.sizeMs / 2), value: toDrawable(value) }];
  });
}

/** The difference between larger numbers could be infinite. */
const maxDrawable = 1e300;
const toDrawable = (value: number): number => Math.max(-maxDrawable, Math.min(maxDrawable, value));

function drawGridLine(tick: number, y: number): string {
  const kind = tick === 0 ? 'zero' : 'grid';
  return `<line class="${kind}" x1="${margin.left}" x2="${width - margin.right}" y1="${round(y)}" y2="${round(y)}"/><text class="y" x="${margin.left - 8}" y="${round(y + 4)}">${formatTick(tick)}</text>`;
}

function drawBars(marks: readonly Mark[], y: ValueAxis, interval: Interval, axis: TimeAxis): string[] {
  const slot = findSlotWidth(interval, axis);
  const barWidth = Math.max(1, slot - Math.min(6, slot * 0.2));
  return marks.map((mark) => {
    const [from, to] = [Math.min(y(0), y(mark.value)), Math.max(y(0), y(mark.value))];
    return `<rect class="bar" x="${round(mark.x - barWidth / 2)}" y="${round(from)}" width="${round(barWidth)}" height="${round(to - from)}">${drawTip(mark)}</rect>`;
  });
}

/** The line is interrupted where buckets have no value. */
function drawLine(marks: readonly Mark[], y: ValueAxis, interval: Interval, axis: TimeAxis): string[] {
  const path = line<Mark | null>()
    .defined((mark) => mark !== null)
    .x((mark) => round(mark?.x ?? 0))
    .y((mark) => round(y(mark?.value ?? 0)));
  const withGaps = marks.flatMap((mark, at) => {
    const before = marks[at - 1];
    const hasGap = before !== undefined && mark.start.getTime() - before.start.getTime() > interval.sizeMs;
    return hasGap ? [null, mark] : [mark];
  });
  const radius = round(Math.max(1, Math.min(3, findSlotWidth(interval, axis) / 3)));
  return [
    `<path class="line" d="${path(withGaps) ?? ''}"/>`,
    ...marks.map(
      (mark) =>
        `<circle class="dot" cx="${round(mark.x)}" cy="${round(y(mark.value))}" r="${radius}">${drawTip(mark)}</circle>`,
    ),
  ];
}

/** The tooltip that browsers show next to the pointer. */
const drawTip = ({ start, value }: Mark): string => `<title>${formatTime(start)} UTC: ${formatValue(value)}</title>`;

function drawLabels(marks: readonly Mark[], y: ValueAxis): string[] {
  const highest = Math.max(...marks.map(({ value }) => value));
  const labelled = marks.length <= maxLabels ? marks : marks.filter(({ value }) => value === highest).slice(0, 1);
  return labelled.map(
    ({ x, value }) =>
      `<text class="value" x="${round(x)}" y="${round(y(Math.max(0, value)) - 6)}">${formatTick(value)}</text>`,
  );
}

const findSlotWidth = ({ sizeMs }: Interval, axis: TimeAxis): number => {
  const [start = 0] = axis.domain();
  return axis(Number(start) + sizeMs) - axis(start);
};

function drawTimeAxis({ interval, range }: Chart, axis: TimeAxis, top: number): string {
  const ticks = interval.sizeMs < dayMs ? listClockTicks(axis) : listBucketTicks(range, interval, axis);
  return ticks
    .map(({ x, text }) => {
      const at = round(x);
      return `<line class="tick" x1="${at}" x2="${at}" y1="${top}" y2="${top + 4}"/><text class="x" x="${at}" y="${top + 18}">${text}</text>`;
    })
    .join('\n');
}

/** Places ticks at full hours or at midnight. */
function listClockTicks(axis: TimeAxis) {
  const [start = 0, end = 0] = axis.domain().map(Number);
  const hasHours = end - start <= 3 * dayMs;
  return axis.ticks(8).map((tick) => {
    const showsHour = hasHours && tick.getTime() % dayMs !== 0;
    return { x: axis(tick), text: (showsHour ? hourFormat : dayFormat).format(tick) };
  });
}

/** Shows the day on which a bucket begins, below the middle of the bucket. */
function listBucketTicks(range: TimeRange, interval: Interval, axis: TimeAxis) {
  const count = countBuckets(range, interval);
  const step = Math.ceil(count / maxTimeTicks);
  return Array.from({ length: Math.ceil(count / step) }, (_, at) => {
    const start = findBucketStart(range.start.getTime(), interval) + at * step * interval.sizeMs;
    return { x: axis(start + interval.sizeMs / 2), text: dayFormat.format(start) };
  });
}

function describeRange({ range, interval }: Chart): string {
  return `${formatTime(range.start)} to ${formatTime(range.end)} UTC, in steps of ${interval.name}`;
}

const dayFormat = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short' });
const hourFormat = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', hour: '2-digit', minute: '2-digit' });
const formatTime = (time: Date): string => time.toISOString().slice(0, 16).replace('T', ' ');

const tickFormat = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
const valueFormat = new Intl.NumberFormat('en', { maximumSignificantDigits: 6 });
const isUnusual = (value: number): boolean => value !== 0 && (Math.abs(value) >= 1e15 || Math.abs(value) < 1e-4);

const formatTick = (value: number): string =>
  isUnusual(value) ? value.toExponential(0) : tickFormat.format(value === 0 ? 0 : value);
const formatValue = (value: number | null): string => {
  if (value === null) return 'no value';
  if (isUnusual(value)) return value.toExponential(3);
  return Number.isInteger(value) ? value.toLocaleString('en') : valueFormat.format(value);
};

const round = (value: number): number => Math.round(value * 100) / 100;

const shorten = (text: string, maxLength: number): string => {
  const characters = [...text.slice(0, 4 * maxLength)];
  return characters.length > maxLength ? `${characters.slice(0, maxLength - 1).join('')}…` : text;
};

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Also replaces characters that are not allowed in XML. */
const escapeText = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replace(/[&<>"']/g, (character) => escapes[character] ?? character);
