// A session's windows: which one is used, how dialogs are answered, and when the page has come to rest.
import { setTimeout as wait } from 'node:timers/promises';
import type { BrowserContext, Dialog, Page, Request } from 'playwright-core';
import type { EvidenceCollector } from './evidence.ts';

export interface Pages {
  /** The newest open window. */
  readonly current: Page;
  /** The time since the page's last action or request, or 0 while it is waiting for a response. */
  readonly quietMs: number;
  /**
   * Starts an action. From now on, questions are answered with OK, as they would be by a person who wants to continue.
   */
  beginAction(): void;
  /** Answers questions with Cancel until the next action. */
  refuseQuestions(): void;
  /** How many questions have been accepted and refused since the action started. */
  readonly answers: { readonly accepted: number; readonly refused: number };
  /** Records that an action was performed. The page may not have sent any request yet. */
  noteAction(): void;
  /** Waits until the page has been quiet for `restMs`, for at most `maxMs`. */
  settle(maxMs: number, restMs: number): Promise<void>;
}

/** Events that end the session. The reason is for the operator. */
export interface PageEvents {
  readonly onCrash: (why: string) => void;
}

const maxPages = 5;
const maxDialogs = 100;
const pollMs = 20;
/** A request that takes longer than this is assumed to be a long poll, and is no longer waited for. */
const lastingMs = 5_000;
/** Requests of these types can last as long as the page. */
const lastingRequests = ['eventsource', 'websocket', 'media', 'ping'];

export async function openPages(
  context: BrowserContext,
  evidence: EvidenceCollector,
  { onCrash }: PageEvents,
): Promise<Pages> {
  const open: Page[] = [];
  /** The start time of each pending request. */
  const pending = new Map<Request, number>();
  let [dialogs, lastActivityMs, mayConfirm] = [0, 0, true];
  let answers = { accepted: 0, refused: 0 };

  function add(page: Page): void {
    if (open.length >= maxPages) {
      evidence.note(`A window was closed because ${maxPages} were already open.`);
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

  /** Prompts for text are dismissed. Dialogs that only inform are always accepted. */
  async function answer(dialog: Dialog): Promise<void> {
    dialogs += 1;
    if (dialogs > maxDialogs) return onCrash('the page opened too many dialogs');
    const isQuestion = dialog.type() === 'confirm';
    const isAccepted = isQuestion ? mayConfirm : dialog.type() !== 'prompt';
    if (isQuestion) answers[isAccepted ? 'accepted' : 'refused'] += 1;
    evidence.note(`${isAccepted ? 'Accepted' : 'Dismissed'} a dialog (${dialog.type()}): ${dialog.message()}`);
    await (isAccepted ? dialog.accept() : dialog.dismiss()).catch(() => {});
  }

  const finish = (request: Request) => {
    if (pending.delete(request)) lastActivityMs = performance.now();
  };
  function measureQuiet(): number {
    const now = performance.now();
    const isWaiting = pending.values().some((startedAt) => now - startedAt < lastingMs);
    return isWaiting ? 0 : now - lastActivityMs;
  }
  context.on('page', add);
  context.on('dialog', (dialog) => void answer(dialog));
  context.on('request', (request) => {
    if (lastingRequests.includes(request.resourceType())) return;
    lastActivityMs = performance.now();
    pending.set(request, lastActivityMs);
  });
  context.on('requestfinished', finish).on('requestfailed', finish);
  const first = await context.newPage();

  return {
    get current() {
      return open.at(-1) ?? first;
    },
    get quietMs() {
      return measureQuiet();
    },
    beginAction() {
      mayConfirm = true;
      answers = { accepted: 0, refused: 0 };
    },
    refuseQuestions() {
      mayConfirm = false;
    },
    get answers() {
      return answers;
    },
    noteAction() {
      lastActivityMs = performance.now();
    },
    async settle(maxMs, restMs) {
      const end = performance.now() + maxMs;
      while (measureQuiet() < restMs && performance.now() < end) await wait(pollMs);
    },
  };
}
