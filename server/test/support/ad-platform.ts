// A client for the sandbox's ad platform, through which tests act as an account's other users.
import type { AdPlatformSandbox } from '../../../sandbox/src/ad-platform/server.ts';
import { type AdPlatform, openAdPlatform, parseCredentials } from '../../src/gateways/ad-platform/index.ts';
import { systemClock } from '../../src/kit/clock.ts';

export const openPlatformClient = ({ url, managerId, credentials }: AdPlatformSandbox): AdPlatform =>
  openAdPlatform({ url, version: 'v25', managerId, credentials: parseCredentials(credentials), clock: systemClock });
