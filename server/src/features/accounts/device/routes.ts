// The routes for logging in a program with a code.
import { open, sessionOnly } from '../../../core/auth/credentials.ts';
import { nestedResource } from '../../../core/auth/guards/row.ts';
import { anyone } from '../../../core/auth/guards/visitor.ts';
import { self, selfInWorkspace } from '../../../core/auth/guards/workspace.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { media } from '../../../kit/http/operation.ts';
import { answerWithPage } from '../../../kit/http/page/page.ts';
import { Success } from '../../../kit/http/shapes.ts';
import { CreatedToken } from '../contract.ts';
import { DeviceLogin, DeviceLoginAnswer, DeviceLoginPoll, NewDeviceLogin, StartedDeviceLogin } from './contract.ts';
import {
  answerDeviceLogin,
  type DeviceDeps,
  findDeviceLogin,
  pollDeviceLogin,
  presentDeviceLogin,
  startDeviceLogin,
} from './login.ts';
import { deviceLoginPage } from './page.ts';

const parameterTexts = {
  user_code: { text: 'The code that the program shows, with or without the hyphen.', example: 'WDJB-MJHT' },
};

export const deviceRoutes = (deps: DeviceDeps): Route[] => [
  route({
    name: 'startDeviceLogin',
    method: 'POST',
    path: '/api/auth/device',
    summary: 'Begin to log in a program: get a code that a person types in their browser',
    description: 'The program shows the code and the address of the page `/device`, and then calls `pollDeviceLogin`.',
    credentials: open,
    access: anyone,
    limit: perMinute(10, 'address'),
    body: NewDeviceLogin,
    secretFields: ['device_code'],
    audits: 'nothing',
    answers: { 200: StartedDeviceLogin },
    handle: ({ db, access, body, now }) => startDeviceLogin(db, deps, access, body, now),
  }),
  route({
    name: 'pollDeviceLogin',
    method: 'POST',
    path: '/api/auth/device/token',
    summary: 'Fetch the token of a program that somebody has approved',
    description:
      'Send it every five seconds until it answers something other than 409 `device_login_pending`. Only this response contains the token, and it works once.',
    credentials: open,
    access: anyone,
    limit: perMinute(120, 'address'),
    body: DeviceLoginPoll,
    secretFields: ['token'],
    repeat: 'safe',
    audits: ['token.created'],
    answers: { 200: CreatedToken },
    refusals: [
      { status: 403, code: 'device_login_denied' },
      { status: 404, code: 'app_not_found' },
      { status: 409, code: 'device_login_pending' },
      { status: 409, code: 'limit_reached' },
      { status: 410, code: 'device_login_expired' },
    ],
    handle: ({ db, access, body, now }) => pollDeviceLogin(db, deps, access, body.device_code, now),
  }),
  route({
    name: 'getDeviceLogin',
    method: 'GET',
    path: '/api/auth/device/{user_code}',
    parameterTexts,
    summary: 'Read what a program asks for, by the code that it shows',
    credentials: sessionOnly,
    access: nestedResource(self, 'device_login', findDeviceLogin, 'user_code'),
    limit: perMinute(10, 'user', { scaledBy: 'never' }),
    answers: { 200: DeviceLogin },
    handle: ({ access }) => presentDeviceLogin(access.device_login),
  }),
  route({
    name: 'answerDeviceLogin',
    method: 'POST',
    path: '/api/auth/device/{user_code}/answer',
    parameterTexts,
    summary: 'Approve or deny a program',
    description:
      'The token will be valid in the chosen workspace, and never for more than the program asked for. If you sign out before the program has fetched it, it gets none.',
    credentials: sessionOnly,
    access: nestedResource(selfInWorkspace, 'device_login', findDeviceLogin, 'user_code'),
    limit: perMinute(10, 'user', { scaledBy: 'never' }),
    body: DeviceLoginAnswer,
    repeat: 'safe',
    audits: ['device_login.answered'],
    answers: { 200: Success },
    refusals: [{ status: 404, code: 'app_not_found' }],
    handle: ({ db, access, body, now }) => answerDeviceLogin(db, access, body, now),
  }),
  route({
    name: 'deviceLoginPage',
    method: 'GET',
    path: '/device',
    summary: 'Show the page on which a person approves a program',
    credentials: open,
    access: anyone,
    limit: perMinute(60, 'address'),
    answers: { 200: media('text/html; charset=utf-8', 'HTML page') },
    handle: () => answerWithPage(deviceLoginPage),
  }),
];
