// Attacks through spelling: private addresses in every form that a parser may accept, and public addresses in the one
// allowed form.
import { BlockList } from 'node:net';
import { isPublic } from '../../server/src/kit/outbound/address.ts';
import { vetUrl } from '../../server/src/kit/outbound/url.ts';

const inner: readonly (readonly [string, number])[] = [
  ['10.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
];
const blocked = new BlockList();
for (const [base, bits] of inner) blocked.addSubnet(base, bits, 'ipv4');

const random = (below: number) => Math.floor(Math.random() * below);
const pick = <Value>(values: readonly Value[]): Value => values[random(values.length)] as Value;
const number = (bytes: readonly number[]) => bytes.reduce((sum, byte) => sum * 256 + byte, 0);
const wide = (text: string) => text.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
const escaped = (text: string) =>
  text.replace(/./g, (each) => (random(2) ? `%${each.charCodeAt(0).toString(16)}` : each));
const pairs = (bytes: readonly number[]) =>
  `${number(bytes.slice(0, 2)).toString(16)}:${number(bytes.slice(2)).toString(16)}`;
const part = (byte: number) =>
  pick([String(byte), `0${byte.toString(8)}`, `0x${byte.toString(16)}`, `0X${byte.toString(16)}`]);

const spellings: readonly ((bytes: readonly number[]) => string)[] = [
  (bytes) => bytes.join('.'),
  (bytes) => bytes.map(part).join('.'),
  (bytes) => `${bytes.map(part).join('.')}.`,
  (bytes) => String(number(bytes)),
  (bytes) => `0x${number(bytes).toString(16)}`,
  (bytes) => `0${number(bytes).toString(8)}`,
  ([first = 0, ...rest]) => `${part(first)}.${number(rest)}`,
  ([first = 0, second = 0, ...rest]) => `${part(first)}.${part(second)}.${number(rest)}`,
  (bytes) => wide(bytes.join('.')),
  (bytes) => bytes.join(pick(['。', '．', '｡'])),
  (bytes) => escaped(bytes.join('.')),
  (bytes) => `[::ffff:${bytes.join('.')}]`,
  (bytes) => `[::ffff:${pairs(bytes)}]`,
  (bytes) => `[::${pairs(bytes)}]`,
  (bytes) => `[64:ff9b::${bytes.join('.')}]`,
  (bytes) => `[2002:${pairs(bytes)}::]`,
];

/** Returns the number of spellings tried, and the spellings with a wrong result. */
export function trySpellings(count: number): { tried: number; wrong: string[] } {
  const wrong: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const bytes = [
      pick([10, 127, 169, 172, 192, 100, random(256)]),
      pick([0, 16, 31, 64, 168, 254, random(256)]),
      random(256),
      random(256),
    ];
    const canonical = bytes.join('.');
    const spelled = n % 2 === 0 ? canonical : pick(spellings)(bytes);
    const taken = 'ok' in vetUrl(`https://${spelled}/`);
    if (taken && blocked.check(canonical, 'ipv4')) wrong.push(`taken: ${spelled}`);
    if (taken && spelled !== canonical) wrong.push(`taken, though not written in full: ${spelled}`);
    if (spelled === canonical && taken !== isPublic(canonical)) wrong.push(`judged in two ways: ${canonical}`);
  }
  return { tried: count, wrong };
}
