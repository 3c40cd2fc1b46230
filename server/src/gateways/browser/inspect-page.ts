// The sequence of a page check: open the page, wait until it is done, and read its text.
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { BrowserGone, type Connection } from './connection.ts';
import type { PageServer } from './page-server.ts';
import { createReport, type LoadedPage, neededTextLength, type PageText } from './report.ts';

/** A loaded page is done once it has made no requests for this long. */
const quietMs = 500;
const minSettleMs = 700;
const maxSettleMs = 4_000;
const stepMs = 100;

const Targets = z.object({ targetInfos: z.array(z.object({ targetId: z.string(), type: z.string() })) });
const Attached = z.object({ sessionId: z.string() });
const World = z.object({ executionContextId: z.number() });
const Frames = z.object({ frameTree: z.object({ frame: z.object({ id: z.string() }) }) });
const Evaluated = z.object({ result: z.object({ value: z.object({ title: z.string(), text: z.string() }) }) });
const Condition = z.object({ result: z.object({ value: z.literal(true) }) });

export interface Inspection {
  readonly path: string;
  readonly watches?: (url: string) => boolean;
  readonly condition?: string;
}

export async function inspectPage(
  connection: Connection,
  server: PageServer,
  { path, watches, condition = 'false' }: Inspection,
): Promise<LoadedPage> {
  const report = createReport(server.host, watches);
  const { targetInfos } = Targets.parse(await connection.send('Target.getTargets'));
  const targetId = targetInfos.find(({ type }) => type === 'page')?.targetId;
  const attached = await connection.send('Target.attachToTarget', { targetId, flatten: true });
  const { sessionId } = Attached.parse(attached);
  const loaded = Promise.withResolvers<void>();
  const crashed = Promise.withResolvers<never>();
  connection.onEvent((event) => {
    report.add(event);
    const { method, params } = event;
    if (method === 'Target.attachedToTarget') void observe(connection, Attached.parse(params).sessionId);
    if (method === 'Page.javascriptDialogOpening') void dismissDialog(connection, event.sessionId);
    if (method === 'Page.loadEventFired' && event.sessionId === sessionId) loaded.resolve();
    if (method === 'Inspector.targetCrashed' && event.sessionId === sessionId)
      crashed.reject(new BrowserGone('the page crashed'));
  });
  const look = async () => {
    await observe(connection, sessionId);
    await connection.send('Browser.setDownloadBehavior', { behavior: 'deny' });
    await connection.send('Page.navigate', { url: `http://${server.host}${path}` }, sessionId);
    await loaded.promise;
    await settle(server);
    const isMet = Condition.safeParse(
      await connection.send('Runtime.evaluate', { expression: condition, returnByValue: true }, sessionId),
    );
    return report.build(await readText(connection, sessionId), server.failedRequests, isMet.success);
  };
  return Promise.race([look(), crashed.promise, connection.gone]);
}

/**
 * Subscribes to events from a page, frame or worker, and from the targets it starts. Not all targets support all
 * domains, so errors are ignored.
 */
async function observe(connection: Connection, sessionId: string): Promise<void> {
  const commands: [string, object?][] = [
    ['Inspector.enable'],
    ['Page.enable'],
    ['Runtime.enable'],
    ['Log.enable'],
    ['Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }],
    // New targets wait until they are observed.
    ['Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true }],
    ['Runtime.runIfWaitingForDebugger'],
  ];
  await Promise.allSettled(commands.map(([method, params]) => connection.send(method, params, sessionId)));
}

const dismissDialog = (connection: Connection, sessionId: string | undefined): Promise<unknown> =>
  connection.send('Page.handleJavaScriptDialog', { accept: false }, sessionId).catch(() => {});

async function settle(server: PageServer): Promise<void> {
  const loadedAt = performance.now();
  for (let passed = 0; passed < maxSettleMs; passed = performance.now() - loadedAt) {
    if (passed >= minSettleMs && performance.now() - server.lastActivityMs >= quietMs) return;
    await wait(stepMs);
  }
}

/** Runs in an isolated world, where the page's scripts can't replace `document` or modify strings. */
async function readText(connection: Connection, sessionId: string): Promise<PageText> {
  const expression = `({
    title: String(document.title),
    text: (document.body?.innerText ?? '').slice(0, ${neededTextLength}),
  })`;
  for (;;) {
    try {
      const { frameTree } = Frames.parse(await connection.send('Page.getFrameTree', {}, sessionId));
      const world = await connection.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id }, sessionId);
      const contextId = World.parse(world).executionContextId;
      const read = await connection.send('Runtime.evaluate', { expression, contextId, returnByValue: true }, sessionId);
      return Evaluated.parse(read).result.value;
    } catch (error) {
      if (error instanceof BrowserGone) throw error;
      await wait(stepMs); // a different page is loading
    }
  }
}
