// The routes of the console: its page, which is the same at all of its addresses, and the page's files.
import { open } from '../../core/auth/credentials.ts';
import { anyone } from '../../core/auth/guards/visitor.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import type { Answer } from '../../kit/http/answer.ts';
import { media } from '../../kit/http/operation.ts';
import { routeNotFound } from '../../kit/http/response/errors.ts';
import { Problem } from '../../kit/problem.ts';
import { answerWithFile, type BuiltFiles, type RequestHeaders } from './files.ts';

export type AnswerWithPage = (sent: RequestHeaders) => Answer<Buffer>;

const shared = { method: 'GET', credentials: open, access: anyone, headers: ['ETag'] } as const;
const notModified = media('application/octet-stream', 'Not modified since this `ETag`');

export function consoleRoutes(files: BuiltFiles, answerWithPage: AnswerWithPage | undefined): Route[] {
  const page = {
    ...shared,
    limit: perMinute(300, 'address', { group: 'console' }),
    answers: { 200: media('text/html; charset=utf-8', 'HTML page'), 304: notModified },
    refusals: [{ status: 404, code: 'console_not_built' }],
    handle: ({ headers }: { headers: RequestHeaders }) => {
      if (answerWithPage === undefined) throw notBuilt();
      return answerWithPage(headers);
    },
  } as const;
  return [
    route({
      ...page,
      name: 'consolePage',
      path: '/w/{*}',
      summary: 'Show the console at an address of a workspace',
    }),
    route({
      ...page,
      name: 'consoleEditorPage',
      path: '/editor/{*}',
      summary: 'Show the console at an address of an app',
    }),
    route({
      ...page,
      name: 'consoleAccountPage',
      path: '/account/{*}',
      summary: "Show the console at an address of the caller's account",
    }),
    route({
      ...shared,
      name: 'consoleAsset',
      path: '/console/{*}',
      summary: 'Read scripts, styles and other files of the console',
      description: 'Files below `assets/` have a hash of their content in their name, so they never change.',
      limit: perMinute(1200, 'address'),
      answers: { 200: media('application/octet-stream', 'File'), 304: notModified },
      refusals: [{ status: 404, code: 'route_not_found' }],
      handle: ({ params, headers }) => {
        const path = params['*'];
        const file = path === 'index.html' ? undefined : files.get(path);
        if (file === undefined) throw routeNotFound();
        const caching = path.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache';
        return answerWithFile(file, headers, { 'cache-control': caching });
      },
    }),
  ];
}

const notBuilt = () =>
  new Problem(
    'not_found',
    'console_not_built',
    'This installation does not serve the console. An operator builds it with `npm run build` and restarts the API.',
  );
