// Checks the services that every installation uses, if they are configured: Redis, the object storage and mail. Each is
// really used.
import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { Redis } from 'ioredis';
import { toStorageSettings } from '../../app/settings.ts';
import type { Config } from '../../config.ts';
import { openMail } from '../../gateways/mail/index.ts';
import { openStorage } from '../../gateways/storage/index.ts';
import { hostOf, isLoopback } from '../../kit/outbound/address.ts';
import {
  broken,
  type Check,
  type CheckContext,
  type CheckResult,
  describeReason,
  missing,
  notConfigured,
  readSetting,
  works,
} from './check.ts';

const neededRedis = 7;

const redis: Check = {
  part: 'Redis',
  async run(context) {
    const text = readSetting(context, 'REDIS_URL');
    const url = new URL(text);
    const place = `${hostOf(url)}:${url.port || 6379}`;
    try {
      return await useRedis(text, `${readSetting(context, 'REDIS_PREFIX')}doctor:${randomUUID()}`, place);
    } catch (error) {
      const message = `Redis at ${place} does not work: ${describeReason(error, context)}. Start it, or correct REDIS_URL. Until then rate limits are counted per process, and workers poll.`;
      return context.isSet('REDIS_URL') ? broken(message) : missing(`${message} REDIS_URL is not set.`);
    }
  },
};

/** Writes, reads and deletes a key, as rate limits do. A replica would refuse that. */
async function useRedis(url: string, key: string, place: string): Promise<CheckResult> {
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: 3_000,
    commandTimeout: 3_000,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    enableReadyCheck: false,
  });
  // A refused password is reported by an event; the command then only says that the connection is closed.
  let reported: Error | undefined;
  client.on('error', (error: Error) => {
    reported ??= error;
  });
  try {
    await client.connect();
    await client.set(key, '1', 'PX', 10_000);
    if ((await client.get(key)) !== '1') return broken(`Redis at ${place} does not return what was written to it.`);
    await client.del(key);
    const about = await client.info('server');
    const read = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(about)?.[1];
    const valkey = read('valkey_version');
    const version = valkey ?? read('redis_version') ?? '';
    const found = `${valkey === undefined ? 'Redis' : 'Valkey'} ${version} at ${place}`;
    return Number.parseInt(version, 10) >= neededRedis
      ? works(`${found}.`)
      : broken(`${found}. Plinth needs Redis ${neededRedis} or Valkey 8: upgrade it.`);
  } catch (error) {
    throw reported ?? error;
  } finally {
    client.disconnect();
  }
}

const storage: Check = {
  part: 'storage',
  async run(context) {
    const bucket = readSetting(context, 'STORAGE_S3_BUCKET');
    const folder = readSetting(context, 'STORAGE_FOLDER');
    const place = bucket === undefined ? `the folder ${resolve(folder)}` : `the bucket ${bucket}`;
    const opened = openStorage(toStorageSettings(context.config as Config));
    const key = `doctor/${randomUUID()}`;
    const content = Buffer.from(`written by plinth doctor: ${key}`);
    try {
      await opened.put(key, content);
      const stored = await opened.get(key);
      const isEqual = stored !== undefined && content.equals(await buffer(stored.content));
      if (!isEqual) return broken(`An object in ${place} was not returned as it was written.`);
      return works(`An object was written and read in ${place}.${describeSharing(context, bucket)}`);
    } catch (error) {
      const advice =
        bucket === undefined
          ? 'Make the folder writable for this user, or set STORAGE_FOLDER to another one.'
          : 'Compare the STORAGE_S3_ settings with docs/operate/configure.md#object-storage.';
      return broken(
        `${place[0]?.toUpperCase()}${place.slice(1)} can't be used: ${describeCause(error, context)}. ${advice}`,
      );
    } finally {
      await opened.remove([key]).catch(() => {}); // the reason was reported already, if the storage does not work
      opened.close();
    }
  },
};

/** The default is a folder below the one in which a process is started. */
const describeSharing = ({ isSet }: CheckContext, bucket: string | undefined): string =>
  bucket === undefined && !isSet('STORAGE_FOLDER')
    ? ' STORAGE_FOLDER is not set: processes that are started elsewhere use another folder.'
    : '';

const describeCause = (error: unknown, context: CheckContext): string =>
  describeReason((error as Error).cause ?? error, context);

const mail: Check = {
  part: 'mail',
  async run(context) {
    const url = readSetting(context, 'SMTP_URL');
    if (url === undefined)
      return notConfigured(
        "No mail is sent: invitations and password resets are links that you hand over, and apps can't mail sign-in links, until SMTP_URL is set.",
      );
    const server = new URL(url);
    const place = `${hostOf(server)}:${server.port || (server.protocol === 'smtps:' ? 465 : 587)}`;
    const opened = openMail(url, readSetting(context, 'MAIL_FROM'), () => {});
    try {
      const { isEncrypted, isSignedIn } = await opened.check();
      const how = isSignedIn ? 'accepted the login' : 'accepts connections without a login';
      if (isSignedIn && !isEncrypted && !isLoopback(server))
        return broken(
          `${place} ${how}, but without encryption, so the password can be read on the way. Use smtps:, or a port with STARTTLS.`,
        );
      return works(`${place} ${how}${isEncrypted ? ', encrypted' : ''}. No message was sent.`);
    } catch (error) {
      return broken(`${place} can't be used: ${describeReason(error, context)}. Correct SMTP_URL.`);
    } finally {
      opened.close();
    }
  },
};

export const serviceChecks: readonly Check[] = [redis, { ...storage, limitMs: 12_000 }, { ...mail, limitMs: 12_000 }];
