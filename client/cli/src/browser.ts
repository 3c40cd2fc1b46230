// Opens pages in the browser of the person at the terminal.
import { spawn } from 'node:child_process';
import type { Output } from './output.ts';

/**
 * Prints the address, or what `printed` has, and opens the address if a person reads it. BROWSER names another program
 * than the usual one.
 */
export async function openPage(
  output: Output,
  url: string,
  printed: { readonly shown: object; readonly text: string } = { shown: { url }, text: url },
): Promise<void> {
  await output.show(printed.shown, () => printed.text);
  if (!output.isForPeople) return;
  const usual = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const program = process.env.BROWSER || usual;
  const opened = spawn(program, [url], { stdio: 'ignore', detached: true });
  opened.once('error', () => output.say(`${program} can't be started. Open the address yourself.`));
  opened.unref();
}
