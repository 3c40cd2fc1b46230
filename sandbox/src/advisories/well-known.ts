// A few advisories about widely used packages, in OSV's format. All were fixed long ago.
import type { OsvRecord } from './osv.ts';

const npm = (name: string, events: readonly Record<string, string>[]) => ({
  package: { name, ecosystem: 'npm' },
  ranges: [{ type: 'SEMVER', events }],
});

export const wellKnown: readonly OsvRecord[] = [
  {
    id: 'GHSA-35jh-r3h4-6jhm',
    modified: '2025-09-29T21:12:41Z',
    aliases: ['CVE-2021-23337'],
    summary: 'Command injection in lodash',
    affected: [npm('lodash', [{ introduced: '0' }, { fixed: '4.17.21' }])],
    severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:H/UI:N/S:U/C:H/I:H/A:H' }],
    database_specific: { severity: 'HIGH' },
  },
  {
    id: 'GHSA-xvch-5gv4-984h',
    modified: '2025-01-14T08:57:15Z',
    aliases: ['CVE-2021-44906'],
    summary: 'Prototype pollution in minimist',
    affected: [
      npm('minimist', [{ introduced: '1.0.0' }, { fixed: '1.2.6' }]),
      npm('minimist', [{ introduced: '0' }, { fixed: '0.2.4' }]),
    ],
    severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H' }],
    database_specific: { severity: 'CRITICAL' },
  },
  {
    id: 'GHSA-wf5p-g6vw-rhxx',
    modified: '2025-02-18T05:31:36Z',
    aliases: ['CVE-2023-45857'],
    summary: 'Axios can send the token against cross-site request forgery to other hosts',
    affected: [
      npm('axios', [{ introduced: '1.0.0' }, { fixed: '1.6.0' }]),
      npm('axios', [{ introduced: '0.8.1' }, { fixed: '0.28.0' }]),
    ],
    severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:U/C:H/I:N/A:N' }],
    database_specific: { severity: 'MODERATE' },
  },
];
