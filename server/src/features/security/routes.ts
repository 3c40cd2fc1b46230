// Owns the HTTP contract of security scans.
import { readCredentials, writeCredentials } from '../../core/auth/credentials.ts';
import { perMinute, unlimited } from '../../core/auth/limits.ts';
import { appAs, appViewerOrDenied } from '../../core/auth/resource-guards.ts';
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
    summary: "Read an app's latest security scan; never starts one",
    description:
      'Read `status` before `result`. An empty group proves something only if `X-Scan-Coverage` says `ran` for it. An app that the caller cannot see answers 403.',
    credentials: { ...readCredentials, workspaceKey: 'security:read' },
    access: appViewerOrDenied,
    limit: unlimited,
    work: 'slow',
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
      'Poll getSecurityScan until `status` is neither `pending` nor `scanning`. `X-Changed: false`: a scan waits or runs already.',
    credentials: { ...writeCredentials, workspaceKey: 'security:scan' },
    access: appAs('editor'),
    limit: perMinute(5, 'caller+app'),
    work: 'slow',
    needsWorker: true,
    query: ScanQuery,
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
    description: 'Removed once scans have not found it for 180 days.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: marks,
    body: IgnoredFinding,
    audits: ['scan.finding_ignored'],
    answers: { 200: Marked },
    refusals: [{ status: 409, code: 'limit_reached' }],
    handle: ({ db, access, body, now }) => ignoreFinding(db, access, body, now),
  }),
  route({
    name: 'restoreFinding',
    method: 'DELETE',
    path: '/api/apps/{app_id}/security/scan/ignore/{fingerprint}',
    summary: 'Restore a finding that was ignored',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: marks,
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
    summary: 'Replace the rules of open operations by those that the scan recommends',
    description: 'Each entity by itself, if its rules are still those that were scanned.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(10, 'caller+app'),
    work: 'slow',
    heldSeconds: 60,
    body: RulesToFix,
    audits: { sometimes: ['scan.rls_fixed', 'entity_schema.updated'] },
    answers: { 200: FixedRules },
    handle: ({ db, access, body, now }) => fixRls(db, deps.fix, access, body.entity_names, now),
  }),
  route({
    name: 'dismissHeader',
    method: 'DELETE',
    path: '/api/apps/{app_id}/security/scan/header-recommendations/{flag}',
    summary: 'Hide a recommendation about a header until the next scan',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(30, 'caller+app'),
    audits: ['scan.header_dismissed'],
    answers: { 200: Marked },
    handle: ({ db, access, params, now }) => dismissHeader(db, access, params.flag, now),
  }),
];
