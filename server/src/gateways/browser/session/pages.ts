// Owns the windows of a session: which of them is acted on, what is answered for a person, and when they have come to rest.
import { setTimeout as wait } from 'node:timers/promises';
import type { BrowserContext, Dialog, Page, Request } from 'playwright-core';
import type { EvidenceCollector } from './evidence.ts';

export interface Pages {
  /** The newest window that is open. */
  readonly current: Page;
  /** How long the page has asked for nothing, 0 while it waits for an answer. */
  readonly quietMs: number;
  /** Waits until the page has asked for nothing for a moment, at most so long. */
  settle(maxMs: number): Promise<void>;
}

/** What ends the session. The reason is for the operator. */
export interface PageEvents {
  readonly onCrash: (why: string) => void;
}

const maxPages = 5;
const maxDialogs = 100;
const restMs = 100;
const pollMs = 20;
/** They last as long as the page. */
const lastingRequests = ['eventsource', 'websocket', 'media', 'ping'];

export async function openPages(
  context: BrowserContext,
  evidence: EvidenceCollector,
  { onCrash }: PageEvents,
): Promise<Pages> {
  const open: Page[] = [];
  const pending = new Set<Request>();
  let [dialogs, lastActivityMs] = [0, 0];

  function add(page: Page): void {
    if (open.length >= maxPages) {
      evidence.note(`A window was closed, because ${maxPages} are open.`);
      return void page.close().catch(() => {});
    }
    open.push(page);
    page.once('close', () => void open.splice(open.indexOf(page), 1));
    page.once('crash', () => onCrash('the page crashed'));
    page.on('download', (download) => {
      evidence.note(`A download was refused: ${download.suggestedFilename()}`);
      void download.cancel().catch(() => {});
    });
  }

  /** As a person who goes on: only what asks for a text is left unanswered. */
  async function answer(dialog: Dialog): Promise<void> {
    dialogs += 1;
    if (dialogs > maxDialogs) return onCrash('the page opened too many dialogs');
    const isAccepted = dialog.type() !== 'prompt';
    evidence.note(`${isAccepted ? 'Accepted' : 'Dismissed'} a dialog (${dialog.type()}): ${dialog.message()}`);
    await (isAccepted ? dialog.accept() : dialog.dismiss()).catch(() => {});
  }

  const finish = (request: Request) => {
    pending.delete(request);
    lastActivityMs = performance.now();
  };
  context.on('page', add);
  context.on('dialog', (dialog) => void answer(dialog));
  context.on('request', (request) => {
    if (!lastingRequests.includes(request.resourceType())) pending.add(request);
    lastActivityMs = performance.now();
  });
  context.on('requestfinished', finish).on('requestfailed', finish);
  const first = await context.newPage();

  return {
    get current() {
      return open.at(-1) ?? first;
    },
    get quietMs() {
      return pending.size === 0 ? performance.now() - lastActivityMs : 0;
    },
    async settle(maxMs) {
      const startedAt = performance.now();
      lastActivityMs = Math.max(lastActivityMs, startedAt); // what was just done may not have asked for anything yet
      for (let now = startedAt; now - startedAt < maxMs; now = performance.now()) {
        if (pending.size === 0 && now - lastActivityMs >= restMs) return;
        await wait(pollMs);
      }
    },
  };
}
