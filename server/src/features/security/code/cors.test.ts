// Tests which websites may read responses using a visitor's cookies: effective allow lists, and patterns that let other
// sites in. Each vulnerable example has a harmless twin.
import { describe } from 'vitest';
import { type Twins, testTwins } from '../../../../test/support/code-findings.ts';

const rule = 'functions.open-cors';

/** `allow` is code that computes `allowed` from `origin`. */
const reflect = (allow: string) => `Deno.serve((request) => {
  const origin = request.headers.get('origin') ?? '';
${allow}
  const headers = new Headers({ 'Access-Control-Allow-Credentials': 'true' });
  headers.set('Access-Control-Allow-Origin', allowed);
  return Response.json({ ok: true }, { headers });
});`;
const own = "'https://shop.example'";

const twins: readonly Twins[] = [
  {
    name: 'a variable',
    rule,
    faulty: reflect("const allowed = origin || '*';"),
    harmless: reflect(`const allowed = origin === ${own} ? origin : ${own};`),
  },
  {
    name: 'a part of the name',
    rule,
    faulty: reflect(`const allowed = origin.includes('shop.example') ? origin : ${own};`),
    harmless: reflect(`const allowed = [${own}, 'https://admin.shop.example'].includes(origin) ? origin : ${own};`),
  },
  {
    name: 'an ending without a dot',
    rule,
    faulty: reflect(`const allowed = origin.endsWith('shop.example') ? origin : ${own};`),
    harmless: reflect(`const allowed = origin.endsWith('.shop.example') ? origin : ${own};`),
  },
  {
    name: 'a beginning',
    rule,
    faulty: reflect(`const allowed = origin.startsWith('https://shop.example') ? origin : ${own};`),
    harmless: reflect(`const sites = new Set([${own}]);\nconst allowed = sites.has(origin) ? origin : ${own};`),
  },
  {
    name: 'a pattern without an end',
    rule,
    faulty: reflect(`const allowed = /^https:\\/\\/([a-z]+\\.)?shop\\.example/.test(origin) ? origin : ${own};`),
    harmless: reflect(`const allowed = /^https:\\/\\/([a-z]+\\.)?shop\\.example$/.test(origin) ? origin : ${own};`),
  },
  {
    name: 'a pattern without a beginning',
    rule,
    faulty: reflect(`const allowed = /shop\\.example$/.test(origin) ? origin : ${own};`),
    harmless: reflect(`const allowed = /^https:\\/\\/shop\\.example$/.test(origin) ? origin : ${own};`),
  },
  {
    name: 'a list that is compared by beginnings',
    rule,
    faulty: reflect(
      `const sites = [${own}];\nconst allowed = sites.some((site) => origin.startsWith(site)) ? origin : '';`,
    ),
    harmless: reflect(`const sites = [${own}];\nconst allowed = sites.some((site) => origin === site) ? origin : '';`),
  },
  {
    name: 'a name of the list itself',
    rule,
    faulty: reflect(`const sites = [${own}];\nlet allowed = origin;\nif (!origin) allowed = sites[0];`),
    harmless: reflect(`const sites = [${own}];\nconst allowed = sites.find((site) => site === origin) ?? sites[0];`),
  },
  {
    name: 'a list of the environment',
    rule,
    faulty: reflect(
      "const sites = Deno.env.get('SITES').split(',');\nconsole.log(sites.includes(origin));\nconst allowed = origin;",
    ),
    harmless: reflect(
      "const sites = (Deno.env.get('SITES') ?? '').split(',').map((site) => site.trim());\nconst allowed = sites.includes(origin) ? origin : 'null-site';",
    ),
  },
  {
    name: 'a helper in another file',
    rule,
    faulty: {
      'functions/f.ts':
        "import { corsHeaders } from './_shared/cors.ts';\nDeno.serve((request) => new Response('ok', { headers: corsHeaders(request.headers.get('origin')) }));",
      'functions/_shared/cors.ts':
        "export const corsHeaders = (origin) => ({\n  'Access-Control-Allow-Origin': origin ?? '*',\n  'Access-Control-Allow-Credentials': 'true',\n});",
    },
    harmless: {
      'functions/f.ts':
        "import { corsHeaders } from './_shared/cors.ts';\nDeno.serve((request) => new Response('ok', { headers: corsHeaders(request.headers.get('origin')) }));",
      'functions/_shared/cors.ts':
        "const sites = ['https://shop.example'];\nexport const corsHeaders = (origin) => ({\n  'Access-Control-Allow-Origin': sites.includes(origin) ? origin : sites[0],\n  'Access-Control-Allow-Credentials': 'true',\n});",
    },
  },
  {
    name: 'shared headers with credentials',
    rule,
    faulty: {
      'functions/f.ts':
        "import { shared } from './_shared/cors.ts';\nDeno.serve((request) => new Response('ok', { headers: { ...shared, 'Access-Control-Allow-Origin': request.headers.get('origin') } }));",
      'functions/_shared/cors.ts': "export const shared = { 'Access-Control-Allow-Credentials': 'true' };",
    },
    harmless: {
      'functions/f.ts':
        "import { shared } from './_shared/cors.ts';\nDeno.serve((request) => new Response('ok', { headers: { ...shared, 'Access-Control-Allow-Origin': request.headers.get('origin') } }));",
      'functions/_shared/cors.ts': "export const shared = { 'Access-Control-Allow-Headers': 'content-type' };",
    },
  },
  {
    name: 'Node',
    rule,
    faulty:
      "export default function handler(req, res) {\n  res.setHeader('Access-Control-Allow-Origin', req.headers.origin);\n  res.setHeader('Access-Control-Allow-Credentials', true);\n  res.json({ ok: true });\n}",
    harmless:
      "export default function handler(req, res) {\n  res.setHeader('Access-Control-Allow-Origin', req.headers.origin);\n  res.setHeader('Access-Control-Allow-Credentials', false);\n  res.json({ ok: true });\n}",
  },
  {
    name: 'middleware of its own',
    rule,
    faulty:
      "app.use((req, res, next) => {\n  res.header('Access-Control-Allow-Origin', req.headers.origin);\n  res.header('Access-Control-Allow-Credentials', 'true');\n  next();\n});",
    harmless:
      "const sites = ['https://shop.example'];\napp.use((req, res, next) => {\n  if (sites.includes(req.headers.origin)) {\n    res.header('Access-Control-Allow-Origin', req.headers.origin);\n    res.header('Access-Control-Allow-Credentials', 'true');\n  }\n  next();\n});",
  },
  {
    name: 'options of a package under another name',
    rule,
    faulty:
      "import allowSites from 'cors';\nconst options = { origin: (origin, done) => done(null, true), credentials: true };\napp.use(allowSites(options));",
    harmless:
      "import allowSites from 'cors';\nconst options = { origin: (origin, done) => done(null, origin === 'https://shop.example'), credentials: true };\napp.use(allowSites(options));",
  },
  {
    name: 'options that depend on the request',
    rule,
    faulty: "import cors from 'cors';\napp.use(cors((req, done) => done(null, { origin: true, credentials: true })));",
    harmless:
      "import cors from 'cors';\nconst sites = ['https://shop.example'];\napp.use(cors((req, done) => done(null, { origin: sites.includes(req.header('Origin')), credentials: true })));",
  },
  {
    name: 'a function that refuses by an error',
    rule,
    faulty:
      "import cors from 'cors';\napp.use(cors({ credentials: true, origin(origin, done) {\n  if (!origin) return done(new Error('no origin'));\n  done(null, true);\n} }));",
    harmless:
      "import cors from 'cors';\nconst sites = ['https://shop.example'];\napp.use(cors({ credentials: true, origin(origin, done) {\n  if (!origin || sites.indexOf(origin) !== -1) done(null, true);\n  else done(new Error('not allowed'));\n} }));",
  },
  {
    name: 'Fastify',
    rule,
    faulty:
      "import fastifyCors from '@fastify/cors';\nawait app.register(fastifyCors, { origin: true, credentials: true });",
    harmless:
      "import fastifyCors from '@fastify/cors';\nawait app.register(fastifyCors, { origin: ['https://shop.example'], credentials: true });",
  },
  {
    name: 'Hono',
    rule,
    faulty: "import { cors } from 'hono/cors';\napp.use('*', cors({ origin: (origin) => origin, credentials: true }));",
    harmless:
      "import { cors } from 'hono/cors';\napp.use('*', cors({ origin: (origin) => (origin.endsWith('.shop.example') ? origin : 'https://shop.example'), credentials: true }));",
  },
];

describe('answers that any website can read', () => testTwins(twins, { path: 'functions/f.ts' }));
