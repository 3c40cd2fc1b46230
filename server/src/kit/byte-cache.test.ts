// Tests the cache whose size is limited in bytes.
import { describe, expect, it } from 'vitest';
import { createByteCache } from './byte-cache.ts';

/** A cache of strings that records which keys were loaded. */
function createTextCache(maxBytes: number) {
  const loads: string[] = [];
  const cache = createByteCache<string>(maxBytes, (text) => text.length);
  const get = (owner: string, key: string, length = 10) =>
    cache.get(owner, key, async () => {
      loads.push(`${owner} ${key}`);
      return 'x'.repeat(length);
    });
  return { cache, get, loads };
}

describe('a cache bounded in bytes', () => {
  it('loads a value once, and returns it without a promise afterwards', async () => {
    const { get, loads } = createTextCache(100);
    expect(await Promise.all([get('a', '1'), get('a', '1')])).toEqual(['x'.repeat(10), 'x'.repeat(10)]);
    expect(get('a', '1')).toBe('x'.repeat(10));
    expect(loads).toEqual(['a 1']);
  });

  it('loads again after a load that failed', async () => {
    const { cache } = createTextCache(100);
    await expect(cache.get('a', '1', () => Promise.reject(new Error('lost')))).rejects.toThrow('lost');
    expect(await cache.get('a', '1', async () => 'found')).toBe('found');
  });

  it('drops what was not used for longest, of the owner who asked least recently', async () => {
    const { get, loads } = createTextCache(40);
    for (const owner of ['a', 'b', 'c', 'd']) await get(owner, '1');
    await get('a', '1'); // marks it as recently used
    await get('e', '1'); // evicts b
    loads.length = 0;
    for (const owner of ['a', 'c', 'd', 'e', 'b']) await get(owner, '1');
    expect(loads).toEqual(['b 1']);
  });

  it('lets no owner have more than a quarter', async () => {
    const { get, loads } = createTextCache(80);
    await get('quiet', '1');
    for (let key = 1; key <= 50; key += 1) await get('busy', String(key));
    loads.length = 0;
    await get('quiet', '1');
    await get('busy', '50');
    await get('busy', '49');
    expect(loads).toEqual([]);
    await get('busy', '48');
    expect(loads).toEqual(['busy 48']);
  });

  it('does not keep what is larger than an owner may have', async () => {
    const { get, loads } = createTextCache(40);
    await get('a', 'large', 11);
    await get('a', 'large', 11);
    expect(loads).toEqual(['a large', 'a large']);
  });
});
