// The HTTP contract for security scans.
import { readCredentials, writeCredentials } from '../../core/auth/credentials.ts';
import { appAs, appViewerOrDenied } from '../../core/auth/guards/app.ts';
import { perMinute, unlimited } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { parse } from '../../kit/http/faults.ts';
import { media } from '../../kit/http/operation.ts';
import {
  FixedRules,
  fingerprintText,
  IgnoredFinding,
  Marked,
  RulesToFix,
  ScanQuery,
  SecurityScan,
} from './contract.ts';
import { type FixDeps, fixRls } from './fix-rls.ts';
import { dismissHeader, ignoreFinding, restoreFinding } from './ignore.ts';
import { sarifType } from './sarif.ts';
import { getSecurityScan, runSecurityScan, type ScanDeps } from './scan.ts';

export type RouteDeps = ScanDeps & { readonly fix: FixDeps };

const marks = perMinute(60, 'workspace+app', { group: 'scanmark' });
const scanHeaders = ['X-Scan-Coverage', 'X-Scanner-Version', 'X-Truncated'];

export const securityRoutes = (deps: RouteDeps): Route[] => [
  route({
    name: 'getSecurityScan',
    method: 'GET',
    path: '/api/apps/{app_id}/security/scan',
    summary: "Read an app's latest security scan without starting one",
    description:
      "Read `status` before `result`. An empty group means that there are no problems only if `X-Scan-Coverage` says `ran` for it. If the caller can't see the app, the response is 403.",
    credentials: { ...readCredentials, workspaceKey: 'security:read' },
    access: appViewerOrDenied,
    limit: unlimited,
    work: 'patient',
    headers: scanHeaders,
    answers: { 200: SecurityScan },
    alsoAnswers: [media(sarifType, 'The findings as SARIF 2.1.0', { type: 'object' })],
    handle: ({ db, access, headers }) => getSecurityScan(db, deps, access, headers.accept),
  }),
  route({
    name: 'runSecurityScan',
    method: 'POST',
    path: '/api/apps/{app_id}/security/scan',
    summary: 'Scan an app for security problems',
    description:
      'Poll `getSecurityScan` until `status` is neither `pending` nor `scanning`. `X-Changed: false` means that a scan was already waiting or running.',
    credentials: { ...writeCredentials, workspaceKey: 'security:scan' },
    access: appAs('editor'),
    limit: perMinute(5, 'caller+app'),
    stores: 3_000,
    work: 'slow',
    needsWorker: true,
    query: ScanQuery,
    idempotency: 'optional',
    audits: ['scan.started'],
    headers: scanHeaders,
    answers: { 200: SecurityScan },
    refusals: [{ status: 409, code: 'scan_not_available' }],
    handle: ({ db, access, query, now }) => runSecurityScan(db, deps, access, query.language ?? 'en', now),
  }),
  route({
    name: 'ignoreFinding',
    method: 'POST',
    path: '/api/apps/{app_id}/security/scan/ignore',
    summary: 'Ignore a finding; it stays in the result',
    description: 'The finding is no longer ignored once scans have not found it for 180 days.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: marks,
    stores: 1_500,
    body: IgnoredFinding,
    repeat: 'safe',
    audits: ['scan.finding_ignored'],
    answers: { 200: Marked },
    refusals: [{ status: 409, code: 'limit_reached' }],
    handle: ({ db, access, body, now }) => ignoreFinding(db, access, body, now),
  }),
  route({
    name: 'restoreFinding',
    method: 'DELETE',
    path: '/api/apps/{app_id}/security/scan/ignore/{fingerprint}',
    summary: 'Restore an ignored finding',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: marks,
    repeat: 'safe',
    audits: ['scan.finding_restored'],
    answers: { 200: Marked },
    refusals: [{ status: 422, code: 'validation' }],
    handle: ({ db, access, params, now }) =>
      restoreFinding(db, access, parse(fingerprintText, ['path', 'fingerprint'], params.fingerprint), now),
  }),
  route({
    name: 'fixRls',
    method: 'POST',
    path: '/api/apps/{app_id}/security/scan/fix-rls',
    summary: 'Replace the rules of open operations with those that the scan recommends',
    description: 'Each entity is changed separately, and only if its rules have not changed since the scan.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(10, 'caller+app'),
    work: 'slow',
    heldSeconds: 60,
    body: RulesToFix,
    repeat: 'safe',
    audits: { sometimes: ['scan.rls_fixed', 'entity_schema.updated'] },
    answers: { 200: FixedRules },
    handle: ({ db, access, body, now }) => fixRls(db, deps.fix, access, body.entity_names, now),
  }),
  route({
    name: 'dismissHeader',
    method: 'DELETE',
    path: '/api/apps/{app_id}/security/scan/header-recommendations/{flag}',
    summary: 'Hide a header recommendation until the next scan',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(30, 'caller+app'),
    repeat: 'safe',
    audits: ['scan.header_dismissed'],
    answers: { 200: Marked },
    handle: ({ db, access, params, now }) => dismissHeader(db, access, params.flag, now),
  }),
];
