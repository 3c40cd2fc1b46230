// Whether Plinth answers at an address: what is said if it does not.
import { isPlinthError, type Plinth } from '../../sdk/src/index.ts';
import { CommandError, exitCodes } from './exit.ts';

/** Asks once, because a person waits. Throws one sentence for people if nothing answers, or something else than Plinth. */
export async function reachServer(plinth: Plinth, url: string, signal: AbortSignal) {
  try {
    return await plinth.serverInfo({}, { signal, maxRetries: 0 });
  } catch (error) {
    if (isPlinthError(error, 'unexpected_answer'))
      throw new CommandError(`What answers at ${url} is not Plinth. Check the address.`, error.code, exitCodes.refused);
    if (!isPlinthError(error, 'unreachable', 'timeout')) throw error;
    if (error.message.includes('bad port'))
      throw new CommandError(
        `Programs for HTTP refuse to connect to the port of ${url}, which browsers block too. Check the address, or let the installation listen on another port, such as 8080.`,
        'port_blocked',
      );
    const reason = error.message.slice(error.operation.length + 2);
    throw new CommandError(
      `Nothing answers at ${url}. ${reason} Check the address, and that the installation is running.`,
      error.code,
      exitCodes.failed,
    );
  }
}
