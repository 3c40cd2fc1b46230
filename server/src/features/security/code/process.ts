// Scans an app's code in a separate process: one process per scan, one file at a time. A file that takes too
// long or crashes the process is left out, and the scan continues with a new process.
import type { ChildProcess } from 'node:child_process';
import type { Coverage, GroupResult, ScanFile } from '../finding.ts';
import type { SecretItem } from '../secrets/item.ts';
import { ask, type ChildLimits, type Children, createChildren } from './children.ts';
import { type AppCode, type CodeCollection, collectCode } from './code-files.ts';
import { createFindingList, type FindingList } from './finding-list.ts';
import { combineIntegrationUse, type IntegrationUseOfFile } from './integrations.ts';
import type { CodeItem, FunctionItem, IntegrationUse } from './item.ts';
import type { ChildAnswer, ChildRequest } from './protocol.ts';

export interface CodeScan {
  readonly secrets: GroupResult<SecretItem>;
  readonly functions: GroupResult<FunctionItem>;
  readonly staticCode: GroupResult<CodeItem>;
  readonly integrations: IntegrationUse;
}

export interface CodeScanOptions {
  readonly staticCode: boolean;
  /** The app's own key for hashing secrets into identities. */
  readonly secretKey: Uint8Array;
  /**
   * The time limit for the whole scan. If it is exceeded, the remaining files are not read, and the groups are partial.
   */
  readonly totalMs: number;
}

export interface CodeScanner {
  /** Throws if aborted, or if no process can be started, but never because of a file's content. */
  scan(files: AsyncIterable<ScanFile>, options: CodeScanOptions, signal: AbortSignal): Promise<CodeScan>;
  /** Ends all processes. Scans that are still running fail. */
  close(): Promise<void>;
}

export interface CodeScannerLimits extends ChildLimits {
  /** The time limit for one step on one file: finding either its secrets or its faults. */
  readonly maxFileMs: number;
  /** The maximum total size of the code that is kept for tracing values across imports. */
  readonly maxCodeBytes: number;
  /** How many processes one scan may start. Once all of them have died, the rest of the app is not read. */
  readonly maxProcesses: number;
}

const defaultLimits: CodeScannerLimits = {
  maxFileMs: 6_000,
  maxHeapMb: 512,
  maxCodeBytes: 48 * 1024 * 1024,
  maxProcesses: 20,
  maxIdleMs: 60_000,
};
/** The maximum number of findings per group. Any further findings would never be shown. */
const maxFindings = 2_000;

export function createCodeScanner(limits: Partial<CodeScannerLimits> = {}): CodeScanner {
  const all = { ...defaultLimits, ...limits };
  const children = createChildren(all);
  return {
    async scan(files, options, signal) {
      const child = createChild(children, all, signal);
      try {
        return await scanApp(child, files, options, all);
      } finally {
        child.end();
      }
    },
    close: children.close,
  };
}

interface State {
  readonly secrets: FindingList<SecretItem>;
  readonly functions: FindingList<FunctionItem>;
  readonly staticCode: FindingList<CodeItem>;
  readonly integrations: IntegrationUseOfFile[];
  files: number;
  isSecretsComplete: boolean;
  isCodeComplete: boolean;
}

async function scanApp(
  child: Child,
  files: AsyncIterable<ScanFile>,
  options: CodeScanOptions,
  limits: CodeScannerLimits,
): Promise<CodeScan> {
  const deadline = performance.now() + options.totalMs;
  const isLate = () => performance.now() > deadline;
  const state: State = {
    secrets: createFindingList(maxFindings),
    functions: createFindingList(maxFindings),
    staticCode: createFindingList(maxFindings),
    integrations: [],
    files: 0,
    isSecretsComplete: true,
    isCodeComplete: true,
  };
  const collected: CodeCollection = collectCode(limits.maxCodeBytes);
  for await (const file of files) {
    state.files += 1;
    collected.add(file);
    if (isLate()) state.isSecretsComplete = false;
    else await readSecrets(child, state, file, options.secretKey);
  }
  const code = collected.finish();
  await readCode(child, state, code, isLate);
  return present(state, code, options.staticCode);
}

async function readSecrets(child: Child, state: State, { path, content }: ScanFile, key: Uint8Array): Promise<void> {
  const answer = await child.ask({ kind: 'secrets', path, content, key });
  if (answer?.kind !== 'secrets') {
    state.isSecretsComplete = false;
    return;
  }
  for (const finding of answer.findings) state.secrets.add(finding);
  if (!answer.isComplete) state.isSecretsComplete = false;
}

async function readCode(
  child: Child,
  state: State,
  { texts, isComplete }: AppCode,
  isLate: () => boolean,
): Promise<void> {
  const paths = [...texts.keys()]; // listed before sending, so files that can't be sent are noticed
  state.isCodeComplete = isComplete;
  if (paths.length > 0 && !isLate()) await child.remember(texts);
  for (const path of paths) {
    if (isLate()) {
      state.isCodeComplete = false;
      return;
    }
    const answer = await child.ask({ kind: 'read', path });
    if (answer?.kind !== 'read') {
      texts.delete(path);
      state.isCodeComplete = false;
      continue;
    }
    const { functions, staticCode, integrations } = answer.findings;
    for (const finding of functions) state.functions.add(finding);
    for (const finding of staticCode) state.staticCode.add(finding);
    state.integrations.push(integrations);
    if (!answer.findings.isComplete) state.isCodeComplete = false;
  }
}

function present(state: State, { hasCode, hasBackend }: AppCode, isStaticCodeOn: boolean): CodeScan {
  const { isCodeComplete, isSecretsComplete } = state;
  const hasFunctions = hasBackend || state.functions.list().length > 0;
  return {
    secrets: presentGroup(state.secrets, state.files > 0, isSecretsComplete),
    functions: presentGroup(state.functions, hasFunctions, isCodeComplete),
    staticCode: isStaticCodeOn
      ? presentGroup(state.staticCode, hasCode, isCodeComplete)
      : { coverage: { value: 'off' }, findings: [] },
    integrations: combineIntegrationUse(state.integrations, isCodeComplete),
  };
}

function presentGroup<Item>(found: FindingList<Item>, hasFiles: boolean, isAllRead: boolean): GroupResult<Item> {
  const coverage: Coverage = !hasFiles
    ? { value: 'skipped', reason: 'no_files' }
    : isAllRead && found.isComplete()
      ? { value: 'ran' }
      : { value: 'partial', reason: 'too_large' };
  return { coverage, findings: found.list() };
}

interface Child {
  /** Returns `undefined` if the process died or was killed, or if no more may be started. Throws if aborted. */
  ask(request: ChildRequest): Promise<ChildAnswer | undefined>;
  /** Sends all files' code to this process and to every replacement. A file that kills a process is removed. */
  remember(code: Map<string, string>): Promise<void>;
  end(): void;
}

function createChild(children: Children, { maxFileMs, maxProcesses }: CodeScannerLimits, signal: AbortSignal): Child {
  let running: ChildProcess | undefined;
  let taken = 0;
  let known = new Map<string, string>();

  function end(): void {
    running?.kill('SIGKILL');
    running = undefined;
  }

  async function start(): Promise<ChildProcess | undefined> {
    while (taken < maxProcesses) {
      taken += 1;
      const child = await children.take(signal);
      child.once('exit', () => {
        if (running === child) running = undefined;
      });
      running = child;
      const failed = await sendCode(child);
      if (failed === undefined) return child;
      known.delete(failed);
    }
    return undefined;
  }

  /** Returns the file that killed the process, if any. */
  async function sendCode(child: ChildProcess): Promise<string | undefined> {
    for (const [path, code] of known) {
      if ((await ask(child, { kind: 'add', path, code }, maxFileMs, signal)) !== undefined) continue;
      end();
      return path;
    }
    return undefined;
  }

  return {
    async ask(request) {
      const child = running ?? (await start());
      if (child === undefined) return undefined;
      const answer = await ask(child, request, maxFileMs, signal);
      if (answer === undefined) end();
      return answer;
    },
    async remember(code) {
      known = code;
      if (running !== undefined) await sendCode(running); // if the process dies, the next request starts another one
    },
    end,
  };
}
