// Serves the git host's repositories over HTTP: fetching and pushing with a token, through `git http-backend`.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Fault } from '../faults.ts';
import type { Access } from './access.ts';
import { answerWithFault, readAll, readBody, sendText } from './answers.ts';
import { runBackend } from './backend.ts';
import type { GitCall, State } from './state.ts';

const maxPushBytes = 256 * 1024 * 1024;
const pathPattern = /^\/([^/]+\/[^/]+?)(?:\.git)?(\/(?:info\/refs|git-upload-pack|git-receive-pack))$/;

export const isGitPath = (path: string): boolean => pathPattern.test(path);

export type TakeFault = (call: GitCall, repository: string) => Fault | undefined;

export function createTransport(state: State, access: Access, takeFault: TakeFault) {
  /** Repositories whose next pack is truncated. */
  const cutPacks = new Set<string>();

  return async (request: IncomingMessage, response: ServerResponse, target: URL): Promise<void> => {
    const [, name = '', path = ''] = pathPattern.exec(target.pathname) ?? [];
    const service = path === '/info/refs' ? target.searchParams.get('service') : path.slice(1);
    const rights = access.findRights(request);
    if (rights === undefined)
      return sendText(response, 401, 'Invalid username or token.\n', { 'www-authenticate': 'Basic realm="GitHub"' });
    const repository = state.repositories.get(name.toLowerCase())?.full_name;
    if (repository === undefined) return sendText(response, 404, 'Repository not found.\n');
    if (service === 'git-receive-pack' && rights.contents !== 'write')
      return sendText(response, 403, `Permission to ${repository}.git denied to sandbox.\n`);
    const body = await readBody(request, maxPushBytes);
    const run = () =>
      runBackend({
        root: state.root,
        path: `/${repository}.git${path}`,
        query: target.search.slice(1),
        request,
        body,
      });

    if (path === '/git-receive-pack') {
      // A body with only a flush packet is a probe, with which git checks whether it may push before it sends much
      // data.
      const fault = body.length > 4 ? takeFault('push', repository) : undefined;
      return answerWithFault(state, fault, { call: 'push', repository }, response, async () => {
        const [answer, content] = await state.changeRefs('push', repository, async () => {
          const answer = await run();
          return [answer, await readAll(answer.parts)] as const;
        });
        return () => response.writeHead(answer.status, answer.headers).end(content);
      });
    }

    const call = { call: 'fetch', repository } as const;
    const fault = path === '/info/refs' && service === 'git-upload-pack' ? takeFault('fetch', repository) : undefined;
    if (fault?.fault === 'drop_after') cutPacks.add(repository);
    const isCut = path === '/git-upload-pack' && !body.includes('command=ls-refs') && cutPacks.delete(repository);
    await answerWithFault(state, fault?.fault === 'drop_after' ? undefined : fault, call, response, async () => {
      const answer = await run();
      return async () => {
        response.writeHead(answer.status, answer.headers);
        for await (const part of answer.parts) {
          if (response.destroyed) return;
          response.write(isCut ? part.subarray(0, 100) : part);
          if (!isCut || part.length === 0) continue;
          state.record({ event: 'dropped', ...call });
          setTimeout(() => response.destroy(), 20); // once the chunk has been sent
          return;
        }
        response.end();
      };
    });
  };
}
