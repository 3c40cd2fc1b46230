// Tests which code verifies the caller and which only appears to. Each vulnerable example has a harmless twin.
import { describe } from 'vitest';
import { type Twins, testTwins } from '../../../../test/support/code-findings.ts';

const rule = 'functions.no-caller-check';

const express = (route: string, more = '') => `import express from 'express';
import pg from 'pg';
const pool = new pg.Pool();
const app = express();
${more}
${route}`;
const removeUser = `async (req, res) => {
  await pool.query('delete from users where id = $1', [req.params.id]);
  res.sendStatus(204);
}`;

const routers: readonly Twins[] = [
  {
    name: 'Express with an array of middleware',
    rule,
    faulty: express(`app.delete('/users/:id', [rateLimit(), express.json()], ${removeUser});`),
    harmless: express(`app.delete('/users/:id', [rateLimit(), requireLogin], ${removeUser});`),
  },
  {
    name: 'Express with middleware of its own that continues anyway',
    rule,
    faulty: express(
      `app.delete('/users/:id', check, ${removeUser});`,
      "const check = (req, res, next) => {\n  if (req.get('x-api-key') !== Deno.env.get('API_KEY')) console.warn('wrong key');\n  next();\n};",
    ),
    harmless: express(
      `app.delete('/users/:id', check, ${removeUser});`,
      "const check = (req, res, next) => {\n  if (req.get('x-api-key') !== Deno.env.get('API_KEY')) return res.sendStatus(401);\n  next();\n};",
    ),
  },
  {
    name: 'Express with a check after the route',
    rule,
    faulty: express(`app.delete('/users/:id', ${removeUser});\napp.use(authenticate);`),
    harmless: express(`app.use(authenticate);\napp.delete('/users/:id', ${removeUser});`),
  },
  {
    name: 'Express that answers 401 and continues',
    rule,
    faulty: express(
      `app.delete('/users/:id', async (req, res) => {
  const user = await getUser(req.headers.authorization);
  if (!user) res.status(401).json({ error: 'sign in' });
  await pool.query('delete from users where id = $1', [req.params.id]);
});`,
    ),
    harmless: express(
      `app.delete('/users/:id', async (req, res) => {
  const user = await getUser(req.headers.authorization);
  if (!user) return res.status(401).json({ error: 'sign in' });
  await pool.query('delete from users where id = $1', [req.params.id]);
});`,
    ),
  },
  {
    name: 'an Express router in a file of its own',
    rule,
    faulty: {
      'functions/app.ts':
        "import express from 'express';\nimport users from './users.ts';\nconst app = express();\napp.use('/users', express.json(), users);\nexport default app;",
      'functions/users.ts': `import { Router } from 'express';\nimport { pool } from './pool.ts';\nconst router = Router();\nrouter.delete('/:id', ${removeUser});\nexport default router;`,
      'functions/pool.ts': "import pg from 'pg';\nexport const pool = new pg.Pool();",
    },
    harmless: {
      'functions/app.ts':
        "import express from 'express';\nimport { requireAdmin } from 'auth-kit';\nimport users from './users.ts';\nconst app = express();\napp.use('/users', requireAdmin, users);\nexport default app;",
      'functions/users.ts': `import { Router } from 'express';\nimport { pool } from './pool.ts';\nconst router = Router();\nrouter.delete('/:id', ${removeUser});\nexport default router;`,
      'functions/pool.ts': "import pg from 'pg';\nexport const pool = new pg.Pool();",
    },
  },
  {
    name: 'Fastify with options of a route',
    rule,
    faulty: `import Fastify from 'fastify';
const app = Fastify();
app.post('/orders/:id/refund', { schema: { params: {} } }, async (request, reply) => {
  await prisma.order.update({ where: { id: request.params.id }, data: { state: 'refunded' } });
});`,
    harmless: `import Fastify from 'fastify';
const app = Fastify();
app.post('/orders/:id/refund', { preHandler: [app.authenticate] }, async (request, reply) => {
  await prisma.order.update({ where: { id: request.params.id }, data: { state: 'refunded' } });
});`,
  },
  {
    name: 'Fastify with a hook',
    rule,
    faulty: `const app = Fastify();
app.addHook('onRequest', async (request) => request.log.info(request.url));
app.delete('/members/:id', async (request) => prisma.member.delete({ where: { id: request.params.id } }));`,
    harmless: `const app = Fastify();
app.addHook('onRequest', async (request) => { await request.jwtVerify(); });
app.delete('/members/:id', async (request) => prisma.member.delete({ where: { id: request.params.id } }));`,
  },
  {
    name: 'Hono with a check of other paths',
    rule,
    faulty: `import { Hono } from 'hono';
import { bearerAuth } from 'hono/bearer-auth';
const app = new Hono();
app.use('/admin/*', bearerAuth({ token: Deno.env.get('ADMIN_TOKEN') }));
app.delete('/customers/:id', async (c) => c.json(await prisma.customer.delete({ where: { id: c.req.param('id') } })));
export default app;`,
    harmless: `import { Hono } from 'hono';
import { bearerAuth } from 'hono/bearer-auth';
const app = new Hono();
app.use('/customers/*', bearerAuth({ token: Deno.env.get('ADMIN_TOKEN') }));
app.delete('/customers/:id', async (c) => c.json(await prisma.customer.delete({ where: { id: c.req.param('id') } })));
export default app;`,
  },
  {
    name: 'a controller class',
    rule,
    faulty: express(
      "const users = new Users();\napp.delete('/users/:id', users.remove.bind(users));",
      "class Users {\n  async remove(req, res) {\n    await pool.query('delete from users where id = $1', [req.params.id]);\n    res.end();\n  }\n}",
    ),
    harmless: express(
      "const users = new Users();\napp.delete('/users/:id', requireAdmin, users.remove.bind(users));",
      "class Users {\n  async remove(req, res) {\n    await pool.query('delete from users where id = $1', [req.params.id]);\n    res.end();\n  }\n}",
    ),
  },
  {
    name: 'an event handler of h3',
    rule,
    faulty: `export default defineEventHandler(async (event) => {
  const { id } = await readBody(event);
  return prisma.user.delete({ where: { id } });
});`,
    harmless: `export default defineEventHandler(async (event) => {
  await requireUserSession(event);
  const { id } = await readBody(event);
  return prisma.user.delete({ where: { id } });
});`,
  },
  {
    name: 'a procedure of tRPC',
    rule,
    faulty: `export const users = router({
  remove: publicProcedure.input(z.object({ id: z.string() })).mutation(async ({ input }) => prisma.user.delete({ where: { id: input.id } })),
});`,
    harmless: `export const users = router({
  remove: protectedProcedure.input(z.object({ id: z.string() })).mutation(async ({ input }) => prisma.user.delete({ where: { id: input.id } })),
});`,
  },
];

const deno = `import { createClient } from 'npm:@supabase/supabase-js@2';
const admin = createClient(Deno.env.get('SUPABASE_URL'), Deno.env.get('SUPABASE_SERVICE_ROLE_KEY'));
`;
/** A Deno function. `check` runs before the effect. */
const serve = (check: string, after = '') => `${deno}Deno.serve(async (req) => {
${check}
  await admin.from('profiles').delete().eq('id', (await req.json()).id);
${after}
  return new Response(null, { status: 204 });
});`;
const refuse = "return new Response('sign in', { status: 401 });";

const checks: readonly Twins[] = [
  {
    name: 'a user who is asked for and not looked at',
    rule,
    faulty: serve(
      'const { data } = await admin.auth.getUser(req.headers.get("authorization"));\nconsole.log("by", data);',
    ),
    harmless: serve(
      `const { data, error } = await admin.auth.getUser(req.headers.get("authorization"));\nif (error || !data.user) ${refuse}`,
    ),
  },
  {
    name: 'a role that is checked only if there is a user',
    rule,
    faulty: serve(`const user = await getUser(req);\nif (user && user.role !== 'admin') ${refuse}`),
    harmless: serve(`const user = await getUser(req);\nif (!user || user.role !== 'admin') ${refuse}`),
  },
  {
    name: 'a check whose answer is dropped',
    rule,
    faulty: `const isAdmin = async (req) => (await sessionOf(req))?.role === 'admin';
const sessionOf = async (req) => verifySession(req.headers.get('cookie'));
${serve('await isAdmin(req);')}`,
    harmless: `const isAdmin = async (req) => (await sessionOf(req))?.role === 'admin';
const sessionOf = async (req) => verifySession(req.headers.get('cookie'));
${serve(`if (!(await isAdmin(req))) ${refuse}`)}`,
  },
  {
    name: 'an answer of a helper that is not returned',
    rule,
    faulty: `async function deny(req) {
  const user = await verifySession(req.headers.get('cookie'));
  return user ? null : new Response(null, { status: 401 });
}
${serve('const denied = await deny(req);\nif (denied) console.warn("denied");')}`,
    harmless: `async function deny(req) {
  const user = await verifySession(req.headers.get('cookie'));
  return user ? null : new Response(null, { status: 401 });
}
${serve('const denied = await deny(req);\nif (denied) return denied;')}`,
  },
  {
    name: 'a condition that only writes to the log',
    rule,
    faulty: serve(`const user = await getUser(req);\nif (!user) { console.warn('nobody'); }`),
    harmless: serve(`const user = await getUser(req);\nif (!user) { console.warn('nobody'); ${refuse} }`),
  },
  {
    name: 'an error that is swallowed',
    rule,
    faulty: serve(
      "try { await jwtVerify(req.headers.get('authorization'), key); } catch (error) { console.error(error); }",
    ),
    harmless: serve(`try { await jwtVerify(req.headers.get('authorization'), key); } catch { ${refuse} }`),
  },
  {
    name: 'an error that skips the effect, or does not',
    rule,
    faulty: `${deno}Deno.serve(async (req) => {
  try {
    await jwtVerify(req.headers.get('authorization'), key);
  } catch (error) {
    console.error(error);
  }
  await admin.from('profiles').delete().eq('id', 1);
  return new Response();
});`,
    harmless: `${deno}Deno.serve(async (req) => {
  try {
    await jwtVerify(req.headers.get('authorization'), key);
    await admin.from('profiles').delete().eq('id', 1);
  } catch (error) {
    console.error(error);
  }
  return new Response();
});`,
  },
  {
    name: 'a token that is only decoded',
    rule,
    faulty: serve(`const claims = decodeToken(req.headers.get('authorization'));\nif (!claims) ${refuse}`),
    harmless: serve(`const claims = await verifyToken(req.headers.get('authorization'));\nif (!claims) ${refuse}`),
  },
  {
    name: 'a cookie that is only there',
    rule,
    faulty: serve(`const session = getCookie(req, 'session');\nif (!session) ${refuse}`),
    harmless: serve(
      `const session = await sessions.findOne({ id: getCookie(req, 'session') });\nif (!session) ${refuse}`,
    ),
  },
  {
    name: 'a name that the caller sends',
    rule,
    faulty: serve(`const userId = req.headers.get('x-user-id');\nif (!userId) ${refuse}`),
    harmless: serve(`const userId = await verifySession(req.headers.get('x-session-token'));\nif (!userId) ${refuse}`),
  },
  {
    name: 'the page that a request comes from',
    rule,
    faulty: serve(`if (req.headers.get('referer') !== 'https://shop.example/admin') ${refuse}`),
    harmless: serve(`if (req.headers.get('x-cron-key') !== Deno.env.get('CRON_KEY')) ${refuse}`),
  },
  {
    name: 'a check in one branch',
    rule,
    faulty: serve(`if (req.method === 'DELETE') {\n  const user = await getUser(req);\n  if (!user) ${refuse}\n}`),
    harmless: serve(
      `if (req.method === 'OPTIONS') return new Response();\nconst user = await getUser(req);\nif (!user) ${refuse}`,
    ),
  },
  {
    name: 'a check after the effect',
    rule,
    faulty: serve('', `const user = await getUser(req);\nif (!user) ${refuse}`),
    harmless: serve(`const user = await getUser(req);\nif (!user) ${refuse}`),
  },
  {
    name: 'a check beside the effect',
    rule,
    faulty: `${deno}Deno.serve(async (req) => {
  const [user] = await Promise.all([getUser(req), admin.from('profiles').delete().eq('id', 1)]);
  if (!user) ${refuse}
  return new Response();
});`,
    harmless: `${deno}Deno.serve(async (req) => {
  const [user, body] = await Promise.all([getUser(req), req.json()]);
  if (!user) ${refuse}
  await admin.from('profiles').delete().eq('id', body.id);
  return new Response();
});`,
  },
  {
    name: 'a wrapper of its own',
    rule,
    faulty: `${deno}const withErrors = (inner) => async (req) => {
  try { return await inner(req); } catch { return new Response(null, { status: 500 }); }
};
Deno.serve(withErrors(async (req) => {
  await admin.from('profiles').delete().eq('id', 1);
  return new Response();
}));`,
    harmless: `${deno}const withUser = (inner) => async (req) => {
  const { data } = await admin.auth.getUser(req.headers.get('authorization'));
  return data.user ? inner(req, data.user) : new Response(null, { status: 401 });
};
Deno.serve(withUser(async (req) => {
  await admin.from('profiles').delete().eq('id', 1);
  return new Response();
}));`,
  },
  {
    name: 'a wrapper that calls the function before it checks',
    rule,
    faulty: `${deno}const withUser = (inner) => async (req) => {
  const answer = await inner(req);
  const user = await getUser(req);
  return user ? answer : new Response(null, { status: 401 });
};
Deno.serve(withUser(async (req) => {
  await admin.from('profiles').delete().eq('id', 1);
  return new Response();
}));`,
    harmless: `${deno}const withUser = (inner) => async (req) => {
  const user = await getUser(req);
  if (user) return inner(req);
  return new Response(null, { status: 401 });
};
Deno.serve(withUser(async (req) => {
  await admin.from('profiles').delete().eq('id', 1);
  return new Response();
}));`,
  },
  {
    name: 'a wrapper of a package',
    rule,
    faulty:
      'export const POST = withLogging(async (request) => {\n  await prisma.user.deleteMany();\n  return new Response();\n});',
    harmless:
      'export const POST = withAuth(async (request) => {\n  await prisma.user.deleteMany();\n  return new Response();\n});',
  },
  {
    name: 'a worker with a key',
    rule,
    faulty: `export default {
  async fetch(request, env) {
    if (!request.headers.get('x-api-key')) return new Response(null, { status: 401 });
    await env.DB.prepare('delete from users where id = ?').bind(1).run();
    return new Response();
  },
};`,
    harmless: `export default {
  async fetch(request, env) {
    if (request.headers.get('x-api-key') !== env.API_KEY) return new Response(null, { status: 401 });
    await env.DB.prepare('delete from users where id = ?').bind(1).run();
    return new Response();
  },
};`,
  },
  {
    name: 'a callable function of Firebase',
    rule,
    faulty: `export const remove = onCall(async (request) => {
  await getFirestore().collection('users').doc(request.data.id).delete();
});`,
    harmless: `export const remove = onCall(async (request) => {
  if (!request.auth) throw new HttpsError('unauthenticated', 'sign in');
  await getFirestore().collection('users').doc(request.data.id).delete();
});`,
  },
  {
    name: 'a function of AWS behind an authorizer',
    rule,
    faulty: `export const handler = async (event) => {
  const userId = event.queryStringParameters.userId;
  await prisma.order.deleteMany({ where: { userId } });
  return { statusCode: 204 };
};`,
    harmless: `export const handler = async (event) => {
  const userId = event.requestContext.authorizer.jwt.claims.sub;
  await prisma.order.deleteMany({ where: { userId } });
  return { statusCode: 204 };
};`,
  },
  {
    name: 'a session of Next.js',
    rule,
    faulty: `export async function DELETE(request, { params }) {
  const session = await auth();
  console.log(session?.user?.email);
  await prisma.order.delete({ where: { id: params.id } });
  return new Response(null, { status: 204 });
}`,
    harmless: `export async function DELETE(request, { params }) {
  const session = await auth();
  if (!session?.user) return new Response(null, { status: 401 });
  await prisma.order.delete({ where: { id: params.id } });
  return new Response(null, { status: 204 });
}`,
  },
  {
    name: 'a password that is compared, or not',
    rule,
    faulty: `export default async (req) => {
  const { email, password } = await req.json();
  const user = await prisma.user.findUnique({ where: { email } });
  bcrypt.compare(password, user.hash);
  await prisma.session.create({ data: { userId: user.id } });
  return new Response();
};`,
    harmless: `export default async (req) => {
  const { email, password } = await req.json();
  const user = await prisma.user.findUnique({ where: { email } });
  if (!(await bcrypt.compare(password, user.hash))) return new Response(null, { status: 401 });
  await prisma.session.create({ data: { userId: user.id } });
  return new Response();
};`,
  },
  {
    name: 'a helper that throws, or only returns',
    rule,
    faulty: `${deno}async function ensureAdmin(req) {
  const user = await verifySession(req.headers.get('cookie'));
  return user?.role === 'admin';
}
Deno.serve(async (req) => {
  await ensureAdmin(req);
  await admin.from('profiles').delete().eq('id', 1);
  return new Response();
});`,
    harmless: `${deno}async function ensureAdmin(req) {
  const user = await verifySession(req.headers.get('cookie'));
  if (user?.role !== 'admin') throw new Error('not allowed');
}
Deno.serve(async (req) => {
  await ensureAdmin(req);
  await admin.from('profiles').delete().eq('id', 1);
  return new Response();
});`,
  },
  {
    name: 'a signed link',
    rule,
    faulty: `${deno}Deno.serve(async (req) => {
  const params = new URL(req.url).searchParams;
  if (!params.get('token')) return new Response(null, { status: 400 });
  await admin.from('subscribers').delete().eq('email', params.get('email'));
  return new Response('done');
});`,
    harmless: `${deno}Deno.serve(async (req) => {
  const params = new URL(req.url).searchParams;
  const expected = createHmac('sha256', Deno.env.get('LINK_SECRET')).update(params.get('email')).digest('hex');
  if (params.get('token') !== expected) return new Response(null, { status: 400 });
  await admin.from('subscribers').delete().eq('email', params.get('email'));
  return new Response('done');
});`,
  },
];

const others: readonly Twins[] = [
  {
    name: 'a function that a clock runs',
    rule,
    faulty: `export const handler = async () => {
  await prisma.session.deleteMany({ where: { expired: true } });
  return { statusCode: 200 };
};`,
    harmless: `export const handler = schedule('@daily', async () => {
  await prisma.session.deleteMany({ where: { expired: true } });
  return { statusCode: 200 };
});`,
  },
  {
    name: 'a function that a queue runs',
    rule,
    faulty: `export const handler = async (event) => {
  for (const order of JSON.parse(event.body)) await prisma.order.update({ where: { id: order.id }, data: order });
};`,
    harmless: `export const handler = async (event) => {
  for (const record of event.Records) await prisma.order.update({ where: { id: record.messageId }, data: {} });
};`,
  },
  {
    name: 'an async check that is not awaited',
    rule,
    faulty: `${deno}async function isAdmin(req) {
  return (await verifySession(req.headers.get('cookie')))?.role === 'admin';
}
Deno.serve(async (req) => {
  if (!isAdmin(req)) ${refuse}
  await admin.from('profiles').delete().eq('id', 1);
  return new Response();
});`,
    harmless: `${deno}async function isAdmin(req) {
  return (await verifySession(req.headers.get('cookie')))?.role === 'admin';
}
Deno.serve(async (req) => {
  if (!(await isAdmin(req))) ${refuse}
  await admin.from('profiles').delete().eq('id', 1);
  return new Response();
});`,
  },
  {
    name: 'a function of a package that is asked about the request',
    rule,
    faulty: serve(`const plan = await loadPlan(req);\nif (!plan) ${refuse}`),
    harmless: serve(`const session = await loadSession(req);\nif (!session) ${refuse}`),
  },
  {
    name: 'a function that pages call',
    rule,
    faulty: `'use server';
export async function removeMember(id) {
  await prisma.member.delete({ where: { id } });
}`,
    harmless: `'use server';
export async function removeMember(id) {
  const session = await auth();
  if (session?.user?.role !== 'admin') throw new Error('not allowed');
  await prisma.member.delete({ where: { id } });
}`,
  },
  {
    name: 'a transaction',
    rule,
    faulty: `export default async (req) => {
  const { from, to } = await req.json();
  await prisma.$transaction(async (tx) => { await tx.account.update({ where: { id: from }, data: { to } }); });
  return new Response();
};`,
    harmless: `export default async (req) => {
  const { from, to } = await req.json();
  await requireUser(req);
  await prisma.$transaction(async (tx) => { await tx.account.update({ where: { id: from }, data: { to } }); });
  return new Response();
};`,
  },
  {
    name: 'a command of AWS',
    rule,
    faulty: `export const handler = async (event) => {
  await client.send(new DeleteItemCommand({ TableName: 'users', Key: { id: { S: event.pathParameters.id } } }));
};`,
    harmless: `export const handler = async (event) => {
  if (!event.requestContext.authorizer?.claims) return { statusCode: 401 };
  await client.send(new DeleteItemCommand({ TableName: 'users', Key: { id: { S: event.pathParameters.id } } }));
};`,
  },
  {
    name: 'records of people, or places that everyone may see',
    rule,
    faulty:
      "import postgres from 'postgres';\nconst sql = postgres();\nexport const GET = async () => Response.json(await sql`select name, email from customers`);",
    harmless:
      "import postgres from 'postgres';\nconst sql = postgres();\nexport const GET = async () => Response.json(await sql`select name, address from stores`);",
  },
];

describe('handlers that do not check their caller', () => testTwins(others, { path: 'functions/f.ts' }));
describe('routes that do not check their caller', () => testTwins(routers, { path: 'functions/f.ts' }));
describe('functions that do not check their caller', () => testTwins(checks, { path: 'functions/f.ts' }));
