// The attacker, in its own niced process. It runs one attack at a time, and throttles itself to less than half a core.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, encode, openConnection } from './connection.ts';
import type { HostileWorkspace } from './seed.ts';
import { type Attacker, type HostileRequest, pick, type Way } from './way.ts';
import { ways } from './ways.ts';

export interface AttackOptions {
  readonly way: string;
  readonly port: number;
  readonly workspace: HostileWorkspace;
  readonly seconds: number;
}

export interface AttackReport {
  readonly sent: number;
  /**
   * The count of each status. `closed` means no response, `refused` means no connection, and `open` means a connection
   * that is held open.
   */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly cpuSeconds: number;
}

const coreShare = 0.45;
const burstSeconds = 0.1;
const pipelineDepth = 16;

const usedSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

const tokensOf = (workspace: HostileWorkspace, by: Attacker): readonly string[] =>
  ({ member: workspace.members, admin: workspace.admins, 'app user': workspace.appUsers, anonymous: [] })[by];

function addressOf({ by, addresses = 200 }: Way, connection: number): string {
  if (by !== 'anonymous') return `127.2.0.${1 + (connection % 16)}`;
  const n = connection % addresses;
  return `127.1.${Math.floor(n / 200)}.${1 + (n % 200)}`;
}

async function attack({ way: name, port, workspace, seconds }: AttackOptions): Promise<AttackReport> {
  const way = ways.find((each) => each.name === name);
  if (way === undefined) throw new Error(`there is no way ${name}`);
  const tokens = tokensOf(workspace, way.by);
  const requestOf = (n: number): HostileRequest => ({
    ...(tokens.length > 0 && { token: pick(tokens, n) }),
    ...way.request(workspace, n),
  });
  requestOf(0); // builds one-time data before the clock starts
  const outcomes: Record<string, number> = {};
  const open = new Set<Connection>();
  const [startedAt, usedBefore] = [performance.now(), usedSeconds()];
  const elapsed = () => (performance.now() - startedAt) / 1000;
  const attacker: Attack = {
    way,
    requestOf,
    sent: 0,
    isOver: () => elapsed() >= seconds,
    count: (outcome) => {
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    },
    async pace() {
      while (usedSeconds() - usedBefore > coreShare * elapsed() + burstSeconds && elapsed() < seconds) await sleep(5);
    },
    async connect(place, paused = false) {
      const connection = await openConnection({ port, from: addressOf(way, place), paused });
      if (connection !== undefined) open.add(connection);
      return connection;
    },
  };
  const connections = Array.from({ length: way.connections }, (_, place) => runConnection(attacker, place));
  await Promise.race([Promise.all(connections), sleep(seconds * 1000)]);
  const report = {
    sent: attacker.sent,
    outcomes: { ...outcomes },
    seconds: elapsed(),
    cpuSeconds: usedSeconds() - usedBefore,
  };
  for (const connection of open) connection.close();
  await Promise.all(connections);
  return report;
}

interface Attack {
  readonly way: Way;
  sent: number;
  requestOf(n: number): HostileRequest;
  isOver(): boolean;
  count(outcome: string): void;
  /** Waits while this process has used more than its share of the CPU. */
  pace(): Promise<void>;
  connect(place: number, paused?: boolean): Promise<Connection | undefined>;
}

const afterRefusalMs = 250;

/** Keeps one connection busy, and opens a new one when it is closed. */
async function runConnection(attack: Attack, place: number): Promise<void> {
  const { manner } = attack.way;
  while (!attack.isOver()) {
    await attack.pace();
    if (attack.isOver()) return;
    const connection = await attack.connect(place, manner === 'slow reader');
    if (connection === undefined) {
      attack.count('refused');
      await sleep(afterRefusalMs);
    } else if (manner === 'requests' || manner === 'pipelined') await askUntilClosed(attack, connection);
    else if (manner === 'slow reader') await readSlowly(attack, connection);
    else await hold(attack, connection);
  }
}

async function askUntilClosed(attack: Attack, connection: Connection): Promise<void> {
  const depth = attack.way.manner === 'pipelined' ? pipelineDepth : 1;
  while (connection.isOpen() && !attack.isOver()) {
    await attack.pace();
    if (attack.isOver()) return;
    const requests = Array.from({ length: depth }, () => encode(attack.requestOf(attack.sent++)));
    for (const status of await connection.exchange(requests)) attack.count(status);
  }
}

/** Sends data in the attack's manner, and waits until the server closes the connection or the attack is over. */
async function hold(attack: Attack, connection: Connection): Promise<void> {
  const { manner } = attack.way;
  attack.count('open');
  if (manner !== 'idle') {
    const [head, ...body] = encode(attack.requestOf(attack.sent++)) as [Buffer, ...Buffer[]];
    const answered = connection.exchange([manner === 'held' ? [head, ...body] : [head]], true);
    void answered.then(([status]) => attack.count(status ?? 'closed'));
  }
  await untilOver(attack, connection, () => manner === 'slow body' && connection.write(' '));
}

async function untilOver(attack: Attack, connection: Connection, everySecond: () => unknown): Promise<void> {
  const closed = new Promise((resolve) => connection.socket.once('close', resolve));
  while (connection.isOpen() && !attack.isOver()) {
    await Promise.race([sleep(1_000), closed]);
    everySecond();
  }
  connection.close();
}

/** Sends many requests over one connection, and reads one byte of the responses per second. */
async function readSlowly(attack: Attack, connection: Connection): Promise<void> {
  const requests = Array.from({ length: pipelineDepth }, () => encode(attack.requestOf(attack.sent++)));
  void connection.exchange(requests);
  attack.count('open');
  await untilOver(attack, connection, () => connection.socket.read(1));
}

process.on('message', async (options: AttackOptions) => process.send?.(await attack(options)));
process.on('disconnect', () => process.exit(0));
