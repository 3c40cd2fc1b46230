// The routes for signing in as an app user, and for an app's sign-in settings.
import { appUserOnly, open, readCredentials, writeCredentials } from '../../core/auth/credentials.ts';
import { appAs } from '../../core/auth/guards/app.ts';
import { appUserSelf, appVisitor } from '../../core/auth/guards/app-data.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { Success } from '../../kit/http/shapes.ts';
import { changeSettings, readSettings } from './auth-settings.ts';
import {
  AppAuthSettings,
  AppAuthSettingsChange,
  AppUserSelf,
  AppUserSignedIn,
  LinkRequest,
  LinkUse,
  SignIn,
  SignUp,
} from './contract.ts';
import { type LinkDeps, requestLink, signUp, useLink } from './links.ts';
import { readSelf, renewToken, signIn, signOut } from './sign-in.ts';

export const signInRoutes = (deps: LinkDeps): Route[] => [
  ...openRoutes(deps),
  ...selfRoutes(deps),
  ...settingsRoutes(deps),
];

const openRoutes = (deps: LinkDeps): Route[] => [
  route({
    name: 'signInAppUser',
    secretFields: ['token'],
    method: 'POST',
    path: '/api/apps/{app_id}/auth/sign-in',
    summary: 'Sign a user of an app in with an e-mail address and password',
    description:
      "For the app's web pages. Returns 429 after five failures for the same e-mail and IP address within 15 minutes, and to a second attempt for the same e-mail address within 5 seconds; at an IP address where a user of the app has signed in before, only attempts from there count.",
    credentials: open,
    access: appVisitor,
    limit: perMinute(60, 'address'),
    work: 'outside',
    body: SignIn,
    audits: ['app_user.signed_in', 'app_user.sign_in_failed'],
    answers: { 200: AppUserSignedIn },
    refusals: [{ status: 401, code: 'sign_in_failed' }],
    handle: ({ db, access, body, now }) => signIn(db, deps, access, body, now),
  }),
  route({
    name: 'signUpAppUser',
    method: 'POST',
    path: '/api/apps/{app_id}/auth/sign-up',
    summary: 'Sign up as a user of an app, to be confirmed with a mailed link',
    description:
      'The response is the same for every address. The user is created, and the password stored, when the link is used. If no mail can be sent, the response has `X-Warning: link_mail_off`.',
    needsWorker: true,
    credentials: open,
    access: appVisitor,
    limit: perMinute(10, 'address'),
    stores: 1_500,
    work: 'outside',
    body: SignUp,
    audits: 'nothing',
    answers: { 200: Success },
    handle: ({ db, access, body, now }) => signUp(db, deps, access, body, now),
  }),
  route({
    name: 'requestAppUserLink',
    method: 'POST',
    path: '/api/apps/{app_id}/auth/link',
    summary: 'Send a user of an app a link that signs them in or sets a password',
    description:
      'The response is the same whether or not a user has the address. If no mail can be sent, the response has `X-Warning: link_mail_off`.',
    needsWorker: true,
    credentials: open,
    access: appVisitor,
    limit: perMinute(5, 'address'),
    body: LinkRequest,
    audits: 'nothing',
    answers: { 200: Success },
    handle: ({ db, access, body, now }) => requestLink(db, deps, access, body.email, now),
  }),
  route({
    name: 'useAppUserLink',
    secretFields: ['token'],
    method: 'POST',
    path: '/api/apps/{app_id}/auth/link/use',
    summary: 'Sign a user of an app in with the token of a mailed link, and set a password if one is sent',
    description:
      "The link works once and for one hour, and ends all other links to the address. A new password ends the user's other sign-ins.",
    credentials: open,
    access: appVisitor,
    limit: perMinute(30, 'address'),
    work: 'outside',
    body: LinkUse,
    audits: ['app_user.signed_in', 'app_user.signed_up', 'app_user.password_set'],
    answers: { 200: AppUserSignedIn },
    refusals: [{ status: 410, code: 'link_expired' }],
    handle: ({ db, access, body, now }) => useLink(db, deps, access, body, now),
  }),
];

const selfRoutes = (deps: LinkDeps): Route[] => [
  route({
    name: 'getAppUserSelf',
    method: 'GET',
    path: '/api/apps/{app_id}/auth/me',
    summary: 'Read the calling user of an app',
    credentials: appUserOnly,
    access: appUserSelf,
    limit: perMinute(300, 'caller'),
    answers: { 200: AppUserSelf },
    handle: ({ db, access }) => readSelf(db, access),
  }),
  route({
    name: 'renewAppUserToken',
    secretFields: ['token'],
    method: 'POST',
    path: '/api/apps/{app_id}/auth/renew',
    summary: "Replace the calling user's token with a new one; the old one expires soon",
    description:
      'The new token is valid for as long as the old one was, but not beyond the end of the sign-in: 30 days after it began, or the expiry of a token that `createAppUserToken` made. The old token of a sign-in expires after 60 seconds, so you can repeat a request whose response was lost; a token that `createAppUserToken` made expires at once.',
    credentials: appUserOnly,
    access: appUserSelf,
    limit: perMinute(30, 'caller'),
    audits: 'nothing',
    answers: { 200: AppUserSignedIn },
    handle: ({ db, access, now }) => renewToken(db, deps, access, now),
  }),
  route({
    name: 'signOutAppUser',
    method: 'POST',
    path: '/api/apps/{app_id}/auth/sign-out',
    summary: "End the calling user's sign-in",
    credentials: appUserOnly,
    access: appUserSelf,
    limit: perMinute(60, 'caller'),
    repeat: 'safe',
    audits: ['app_user.signed_out'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => signOut(db, access, now),
  }),
];

const settingsRoutes = (deps: LinkDeps): Route[] => [
  route({
    name: 'getAppAuthSettings',
    method: 'GET',
    path: '/api/apps/{app_id}/auth/settings',
    summary: 'Read how the users of an app sign in and sign up',
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: perMinute(60, 'caller'),
    answers: { 200: AppAuthSettings },
    handle: ({ db, access }) => readSettings(db, deps, access),
  }),
  route({
    name: 'setAppAuthSettings',
    method: 'PATCH',
    path: '/api/apps/{app_id}/auth/settings',
    summary: 'Change how the users of an app sign in and sign up; fields that are not sent keep their value',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(60, 'caller'),
    body: AppAuthSettingsChange,
    idempotency: 'optional',
    audits: ['app.auth_settings_changed'],
    answers: { 200: AppAuthSettings },
    handle: ({ db, access, body, now }) => changeSettings(db, deps, access, body, now),
  }),
];
