// Watches the preview in a page of the console: which revision its label names, and which one the page in the frame was
// served as, by the header of the server's own response.
import type { Frame, Page } from 'playwright-core';

export interface LabelLine {
  readonly session: number;
  readonly label: number;
  /** The revision in the header of the page in the frame. */
  readonly served: number | undefined;
}

const everyMs = 100;

export function watchLabels(page: Page, session: number, lines: LabelLine[]) {
  const answered = new WeakMap<Frame, number>();
  const served = new WeakMap<Frame, number>();
  page.on('response', (response) => {
    const request = response.request();
    if (!request.isNavigationRequest() || response.status() !== 200) return;
    const revision = response.headers()['x-app-revision'];
    if (revision !== undefined) answered.set(request.frame(), Number(revision));
  });
  page.on('framenavigated', (frame) => {
    const revision = answered.get(frame);
    if (revision !== undefined) served.set(frame, revision);
  });
  let isStopped = false;
  let wrongBefore = '';
  const watch = async () => {
    while (!isStopped) {
      const line = await read().catch(() => undefined);
      if (line !== undefined) {
        const isWrong = line.served !== undefined && line.label !== line.served;
        const key = `${line.label} ${line.served}`;
        // Label and frame can't be read in the same instant, so what is seen twice in a row counts.
        if (!isWrong || wrongBefore === key) lines.push(line);
        wrongBefore = isWrong ? key : '';
      }
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  };
  const read = async (): Promise<LabelLine | undefined> => {
    const text = await page
      .getByText(/^revision \d+, /)
      .first()
      .textContent({ timeout: everyMs });
    const label = Number(/\d+/.exec(text ?? '')?.[0]);
    const frame = page.frames().find((each) => each.parentFrame() !== null && served.has(each));
    return Number.isNaN(label) ? undefined : { session, label, served: frame && served.get(frame) };
  };
  const watching = watch();
  return {
    stop: () => {
      isStopped = true;
      return watching;
    },
  };
}
