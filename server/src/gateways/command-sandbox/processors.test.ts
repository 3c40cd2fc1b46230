// Tests the processor time quota in a command's control group. Requires root and the cpu controller.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openControlGroups } from './cgroups.ts';

test('a group gets no more processor time than it may use', async () => {
  const { create } = await openControlGroups(undefined);
  const group = await create({ memoryBytes: 64 * 1024 * 1024, processes: 8, processors: 0.05 });
  const folder = group.folders.find((each) => existsSync(join(each, 'cpu.stat'))) ?? '';
  const script = 'for g; do echo 0 >$g/cgroup.procs; done; while :; do :; done';
  const child = spawn('/bin/sh', ['-c', script, 'sh', ...group.folders], { stdio: 'ignore' });
  const readThrottled = () =>
    Number(/^nr_throttled (\d+)$/m.exec(readFileSync(join(folder, 'cpu.stat'), 'utf8'))?.[1] ?? 0);
  try {
    for (let tries = 0; tries < 200 && readThrottled() === 0; tries += 1) await wait(50);
    expect(readThrottled()).toBeGreaterThan(0);
  } finally {
    await group.kill();
    child.kill('SIGKILL');
    await group.remove();
  }
  expect(group.folders.filter((each) => existsSync(each))).toEqual([]);
});
