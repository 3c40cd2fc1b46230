// The process that draws images one at a time. It starts on demand, and ends if an image takes too long, if it
// uses too much memory, or after an idle minute. Workspaces take turns, and so do the apps in a workspace.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createGroupedGate, GateClosed } from '../../../../kit/fair-gate.ts';
import { forkUnprivileged } from '../../../../kit/unprivileged.ts';
import type { ImageSlot } from '../../rules/slots.ts';
import type { Style } from './draw.ts';

export interface RenderRequest {
  readonly workspace_id: string;
  readonly app_id: string;
  readonly slot: ImageSlot;
  readonly style: Style;
  readonly language: string;
  readonly name: string;
  readonly headline: string;
  readonly description: string;
  /** The app's own colour, as `#rrggbb`. The logo's colour takes precedence. */
  readonly accent: string | null;
  /** The logo file as fetched. */
  readonly logo: Uint8Array | undefined;
}

export interface DrawnImage {
  /** A JPEG with the slot's dimensions. */
  readonly image: Uint8Array;
  /** Whether the logo was drawn. If the logo is unusable, the image shows the name's first letter. */
  readonly hasLogo: boolean;
}

export type RenderAnswer = (DrawnImage | { readonly error: string }) & { readonly rssBytes: number };

export interface Renderer {
  /** Throws if the image can't be drawn. */
  render(request: RenderRequest): Promise<DrawnImage>;
  close(): void;
}

const limits = { maxImageMs: 15_000, maxRssBytes: 400 * 1024 * 1024, maxIdleMs: 60_000 };
const gateLimits = { inAll: 1, perOwner: 1, maxWaitingOfOwner: 8, maxWaitMs: 120_000 };

export function createRenderer({ maxImageMs, maxRssBytes, maxIdleMs } = limits): Renderer {
  const gate = createGroupedGate(gateLimits);
  let running: ChildProcess | undefined;
  let idleTimer: NodeJS.Timeout | undefined;

  function end(): void {
    clearTimeout(idleTimer);
    running?.kill('SIGKILL');
    running = undefined;
  }

  function start(): ChildProcess {
    const child = forkUnprivileged(new URL('process.ts', import.meta.url), [], {
      env: {},
      execArgv: ['--max-old-space-size=128'],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.on('error', () => {}); // the pending request sees the exit
    child.once('exit', () => {
      if (running === child) running = undefined;
    });
    child.unref();
    child.channel?.unref();
    return child;
  }

  async function ask(request: RenderRequest): Promise<DrawnImage> {
    clearTimeout(idleTimer);
    running ??= start();
    const answer = await waitForAnswer(running, request, maxImageMs).catch((error) => {
      end();
      throw error;
    });
    if (answer.rssBytes > maxRssBytes) end();
    idleTimer = setTimeout(end, maxIdleMs);
    idleTimer.unref();
    if ('error' in answer) throw new Error(`image not drawn: ${answer.error}`);
    return answer;
  }

  async function takeTurn(request: RenderRequest): Promise<DrawnImage> {
    const leave = await gate.enter(request.workspace_id, request.app_id);
    try {
      return await ask(request);
    } finally {
      leave();
    }
  }

  return {
    // If the untrusted logo crashes the process, the image is drawn without it.
    render: (request) =>
      takeTurn(request).catch((error) => {
        if (request.logo === undefined || error instanceof GateClosed) throw error;
        return takeTurn({ ...request, logo: undefined });
      }),
    close: end,
  };
}

/** Throws if the process exits first or does not respond in time. */
async function waitForAnswer(child: ChildProcess, request: RenderRequest, maxMs: number): Promise<RenderAnswer> {
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(new Error('image not drawn: timed out')), maxMs);
  try {
    const answered = once(child, 'message', ended).then(([answer]) => answer as RenderAnswer);
    const exited = once(child, 'exit', ended).then(() => {
      throw new Error('image not drawn: the process exited');
    });
    child.send(request);
    return await Promise.race([answered, exited]);
  } catch (error) {
    throw ended.signal.aborted ? ended.signal.reason : error;
  } finally {
    clearTimeout(timer);
    ended.abort();
  }
}
