// Measures how long the packed plinthctl takes to start, beside a bare Node.
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packCommandLine } from '../pack.ts';

export interface StartTime {
  readonly medianMs: number;
  /** The least processor time of any start. */
  readonly cpuMs: number;
}

export interface StartTimes {
  readonly node: StartTime;
  readonly version: StartTime;
  readonly help: StartTime;
}

/** Packs plinthctl into the folder, and starts it as often as a bare Node, by turns. */
export async function measureStart(folder: string, runs = 21): Promise<StartTimes> {
  await packCommandLine(folder);
  await writeFile(join(folder, 'package.json'), '{"type": "module"}');
  await writeFile(join(folder, 'empty.js'), '');
  const main = join(folder, 'main.js');
  const programs = { node: [join(folder, 'empty.js')], version: [main, '--version'], help: [main, '--help'] };
  const starts: Record<keyof StartTimes, Start[]> = { node: [], version: [], help: [] };
  for (let run = 0; run < runs; run += 1)
    for (const [name, args] of Object.entries(programs) as [keyof StartTimes, string[]][])
      starts[name].push(start(args));
  return { node: summarise(starts.node), version: summarise(starts.version), help: summarise(starts.help) };
}

interface Start {
  readonly tookMs: number;
  readonly cpuMs: number;
}

/** Starts a program of Node. The last line that the shell prints is such as `0m0.061s 0m0.018s`: in user and in system mode. */
function start(args: readonly string[]): Start {
  const startedAt = performance.now();
  const printed = execFileSync('bash', ['-c', '"$@"; times', 'bash', process.execPath, ...args], { encoding: 'utf8' });
  const tookMs = performance.now() - startedAt;
  const times = [...(printed.trimEnd().split('\n').at(-1) ?? '').matchAll(/(\d+)m([\d.]+)s/g)];
  return {
    tookMs,
    cpuMs: times.reduce((sum, [, minutes, seconds]) => sum + (Number(minutes) * 60 + Number(seconds)) * 1000, 0),
  };
}

function summarise(starts: readonly Start[]): StartTime {
  const sorted = starts.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
  return { medianMs: sorted[sorted.length >> 1] ?? 0, cpuMs: Math.min(...starts.map(({ cpuMs }) => cpuMs)) };
}
