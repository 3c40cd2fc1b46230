// Lists the code-reading processes that this process has started.
import { readdir, readFile } from 'node:fs/promises';

/** Returns the ids of the running processes. Excludes processes that have exited but have not yet been reaped. */
export async function listCodeProcesses(): Promise<number[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const listed = await Promise.all(ids.map(async (id) => ((await isCodeProcess(id)) ? [Number(id)] : [])));
  return listed.flat();
}

async function isCodeProcess(id: string): Promise<boolean> {
  try {
    const [status, command] = await Promise.all([
      readFile(`/proc/${id}/status`, 'utf8'),
      readFile(`/proc/${id}/cmdline`, 'utf8'), // empty if the process has exited
    ]);
    return status.includes(`\nPPid:\t${process.pid}\n`) && command.includes('security/code/child.ts');
  } catch {
    return false; // the process has ended
  }
}
