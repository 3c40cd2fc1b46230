// Tests request values in SQL, commands, code, HTML and URLs, in forms found in real code. Each vulnerable example has
// a harmless twin.
import { describe } from 'vitest';
import { type Twins, testTwins } from '../../../../test/support/code-findings.ts';

/** A function that verifies its caller, so findings can only come from `body`. */
const checked = (body: string, top = '') => `import { requireUser } from 'auth-kit';
${top}
Deno.serve(async (request) => {
  await requireUser(request);
  const params = new URL(request.url).searchParams;
  const input = await request.json();
${body}
});`;
const express = (body: string, top = '') => `import express from 'express';
${top}
const app = express();
app.get('/x/:id', requireUser, async (req, res) => {
${body}
});`;

const sql = 'code.sql-injection';
const statements: readonly Twins[] = [
  {
    name: 'raw of knex',
    rule: sql,
    faulty: checked("return knex.raw(`select * from t where name = '${input.name}'`);"),
    harmless: checked("return knex.raw('select * from t where name = ?', [input.name]);"),
  },
  {
    name: 'raw in a tagged template',
    rule: sql,
    faulty: checked('return db.execute(sql`select * from t order by ${sql.raw(input.sort)}`);'),
    harmless: checked('return db.execute(sql`select * from t where name = ${input.name}`);'),
  },
  {
    name: 'conditions that are joined',
    rule: sql,
    faulty: checked(
      "const where = Object.entries(input.filter).map(([name, value]) => `${name} = '${value}'`).join(' and ');\nreturn pool.query('select * from t where ' + where);",
    ),
    harmless: checked(
      "const names = ['a', 'b'].filter((name) => name in input.filter);\nconst where = names.map((name, at) => `${name} = $${at + 1}`).join(' and ');\nreturn pool.query('select * from t where ' + where, names.map((name) => input.filter[name]));",
    ),
  },
  {
    name: 'conditions that are pushed',
    rule: sql,
    faulty: checked(
      "const where = ['archived = false'];\nif (input.q) where.push(`title like '%${input.q}%'`);\nreturn pool.query(`select * from t where ${where.join(' and ')}`);",
    ),
    harmless: checked(
      "const where = ['archived = false'];\nconst values = [];\nif (input.q) { values.push(`%${input.q}%`); where.push(`title like $${values.length}`); }\nreturn pool.query(`select * from t where ${where.join(' and ')}`, values);",
    ),
  },
  {
    name: 'an order',
    rule: sql,
    faulty: checked("return pool.query(`select * from t order by ${params.get('by') ?? 'id'} desc`);"),
    harmless: checked(
      "const by = { name: 'name', date: 'created_at' }[params.get('by')] ?? 'id';\nreturn pool.query(`select * from t order by ${by} desc`);",
    ),
  },
  {
    name: 'a repository class',
    rule: sql,
    faulty: checked(
      'return new Tasks(pool).find(input.name);',
      "class Tasks {\n  constructor(pool) { this.pool = pool; }\n  find(name) { return this.pool.query(`select * from tasks where name = '${name}'`); }\n}",
    ),
    harmless: checked(
      'return new Tasks(pool).find(input.name);',
      "class Tasks {\n  constructor(pool) { this.pool = pool; }\n  find(name) { return this.pool.query('select * from tasks where name = $1', [name]); }\n}",
    ),
  },
  {
    name: 'a query builder',
    rule: sql,
    faulty: checked("return tasks.createQueryBuilder('t').where(`t.name = '${input.name}'`).getMany();"),
    harmless: checked("return tasks.createQueryBuilder('t').where('t.name = :name', { name: input.name }).getMany();"),
  },
  {
    name: 'a statement that is prepared',
    rule: sql,
    faulty: checked('return env.DB.prepare(`select * from t where id = ${input.id}`).all();'),
    harmless: checked("return env.DB.prepare('select * from t where id = ?').bind(input.id).all();"),
  },
  {
    name: 'a function of the database that runs text',
    rule: sql,
    faulty: checked("return supabase.rpc('run_sql', { query: `select * from t where name = '${input.name}'` });"),
    harmless: checked("return supabase.rpc('find_tasks', { name: input.name });"),
  },
  {
    name: 'a number that may be text',
    rule: sql,
    faulty: checked("const limit = input.limit ?? 20;\nreturn pool.query('select * from t limit ' + limit);"),
    harmless: checked(
      "const limit = Math.min(Number(input.limit) || 20, 100);\nreturn pool.query('select * from t limit ' + limit);",
    ),
  },
  {
    name: 'a check of the type that lets text through',
    rule: sql,
    faulty: checked(
      "if (typeof input.name !== 'string') return new Response(null, { status: 422 });\nreturn pool.query(`select * from t where name = '${input.name}'`);",
    ),
    harmless: checked(
      'if (!/^\\d+$/.test(input.id)) return new Response(null, { status: 422 });\nreturn pool.query(`select * from t where id = ${input.id}`);',
    ),
  },
  {
    name: 'a function that takes a whole statement',
    rule: sql,
    faulty: checked(
      'return runQuery(`select * from tasks where name = ${input.name}`);',
      "import { runQuery } from 'db-kit';",
    ),
    harmless: checked(
      "return runQuery('select * from tasks where name = $1', input.name);",
      "import { runQuery } from 'db-kit';",
    ),
  },
  {
    name: 'a statement in options',
    rule: sql,
    faulty: checked(
      'return client.send(new ExecuteStatementCommand({ sql: `delete from tasks where id = ${input.id}` }));',
    ),
    harmless: checked(
      "return client.send(new ExecuteStatementCommand({ sql: 'delete from tasks where id = :id', parameters: [input.id] }));",
    ),
  },
  {
    name: 'a filter of a directory',
    rule: 'code.nosql-injection',
    faulty: checked("return ldap.search('dc=example', { filter: `(uid=${input.name})` });"),
    harmless: checked(
      "return ldap.search('dc=example', { filter: new EqualityFilter({ attribute: 'uid', value: input.name }) });",
    ),
  },
  {
    name: 'a filter of MongoDB that runs code',
    rule: 'code.nosql-injection',
    faulty: checked(
      'return mongo.collection("tasks").find({ $where: `this.name == "${input.name}"` }).toArray();',
      "import { mongo } from './mongo.ts';",
    ),
    harmless: checked(
      'return mongo.collection("tasks").find({ name: String(input.name) }).toArray();',
      "import { mongo } from './mongo.ts';",
    ),
  },
];

const command = 'code.command-injection';
const code = 'code.code-injection';
const commands: readonly Twins[] = [
  {
    name: 'a shell',
    rule: command,
    faulty: checked('exec(`convert ${input.file} out.png`);', "import { exec } from 'node:child_process';"),
    harmless: checked(
      "execFile('convert', [input.file, 'out.png']);",
      "import { execFile } from 'node:child_process';",
    ),
  },
  {
    name: 'an option',
    rule: command,
    faulty: checked(
      "spawn('git', ['clone', input.url], { shell: true });",
      "import { spawn } from 'node:child_process';",
    ),
    harmless: checked("spawn('git', ['clone', '--', input.url]);", "import { spawn } from 'node:child_process';"),
  },
  {
    name: 'an option of a constant',
    rule: command,
    faulty: checked(
      "const options = { shell: '/bin/bash' };\nspawn('git clone ' + input.url, options);",
      "import { spawn } from 'node:child_process';",
    ),
    harmless: checked(
      "const options = { shell: false };\nspawn('git', ['clone', '--', input.url], options);",
      "import { spawn } from 'node:child_process';",
    ),
  },
  {
    name: 'a function that returns a promise',
    rule: command,
    faulty: checked(
      'const { stdout } = await run("ping -c 1 " + input.host);',
      "import { promisify } from 'node:util';\nimport cp from 'node:child_process';\nconst run = promisify(cp.exec);",
    ),
    harmless: checked(
      'const { stdout } = await run("ping", ["-c", "1", input.host]);',
      "import { promisify } from 'node:util';\nimport cp from 'node:child_process';\nconst run = promisify(cp.execFile);",
    ),
  },
  {
    name: 'a shell that is started as a program',
    rule: command,
    faulty: checked("Bun.spawn(['bash', '-c', `ls ${input.folder}`]);"),
    harmless: checked("Bun.spawn(['ls', '--', input.folder]);"),
  },
  {
    name: 'a formula',
    rule: code,
    faulty: checked("const run = new Function('x', 'return ' + input.formula);\nreturn Response.json(run(1));"),
    harmless: checked("const run = new Function('x', 'return x + 1');\nreturn Response.json(run(input.x));"),
  },
  {
    name: 'a module that is loaded where it is used',
    rule: command,
    faulty: checked("return require('child_process').execSync('ls ' + input.folder);"),
    harmless: checked("return require('child_process').execFileSync('ls', ['--', input.folder]);"),
  },
  {
    name: 'a context of its own',
    rule: code,
    faulty: checked('return Response.json(vm.runInNewContext(input.code, {}));', "import vm from 'node:vm';"),
    harmless: checked('return Response.json(JSON.parse(input.code));'),
  },
  {
    name: 'a module by its name',
    rule: code,
    faulty: checked('const module = await import(`./plugins/${input.name}.ts`);\nreturn module.run();'),
    harmless: checked(
      "const plugins = { a: './plugins/a.ts', b: './plugins/b.ts' };\nconst module = await import(plugins[input.name] ?? plugins.a);\nreturn module.run();",
    ),
  },
];

const answer = 'code.xss-answer';
const html = 'code.xss-html';
const answers: readonly Twins[] = [
  {
    name: 'Express, which sends text as HTML',
    rule: answer,
    faulty: express("res.send('No results for ' + req.query.q);"),
    harmless: express("res.type('text').send('No results for ' + req.query.q);"),
  },
  {
    name: 'a template in a helper',
    rule: answer,
    faulty: express('res.send(page(req.query.title));', 'const page = (title) => `<title>${title}</title>`;'),
    harmless: express(
      'res.send(page(escapeHtml(req.query.title)));',
      "import escapeHtml from 'escape-html';\nconst page = (title) => `<title>${title}</title>`;",
    ),
  },
  {
    name: 'Node',
    rule: answer,
    faulty:
      "import { createServer } from 'node:http';\ncreateServer((req, res) => {\n  const q = new URL(req.url, 'http://x').searchParams.get('q');\n  res.writeHead(200, { 'content-type': 'text/html' });\n  res.end('You searched ' + q);\n}).listen(80);",
    harmless:
      "import { createServer } from 'node:http';\ncreateServer((req, res) => {\n  const q = new URL(req.url, 'http://x').searchParams.get('q');\n  res.writeHead(200, { 'content-type': 'text/plain' });\n  res.end('You searched ' + q);\n}).listen(80);",
  },
  {
    name: 'Koa',
    rule: answer,
    faulty:
      "import Koa from 'koa';\nrouter.get('/hello', async (ctx) => {\n  ctx.body = `<h1>Hello ${ctx.query.name}</h1>`;\n});",
    harmless:
      "import Koa from 'koa';\nrouter.get('/hello', async (ctx) => {\n  ctx.body = { hello: ctx.query.name };\n});",
  },
  {
    name: 'Hono',
    rule: answer,
    faulty: "const app = new Hono();\napp.get('/hello', (c) => c.html(`<h1>${c.req.query('name')}</h1>`));",
    harmless: "const app = new Hono();\napp.get('/hello', (c) => c.text(`<h1>${c.req.query('name')}</h1>`));",
  },
  {
    name: 'Fastify with a type',
    rule: answer,
    faulty:
      "app.get('/hello', async (request, reply) => {\n  reply.type('text/html').send('Hello ' + request.query.name);\n});",
    harmless: "app.get('/hello', async (request, reply) => {\n  reply.send('Hello ' + request.query.name);\n});",
  },
  {
    name: 'an image that can have scripts',
    rule: answer,
    faulty: checked(
      "return new Response(`<svg><text>${input.label}</text></svg>`, { headers: { 'content-type': 'image/svg+xml' } });",
    ),
    harmless: checked(
      "return new Response(`<svg><text>${Number(input.label)}</text></svg>`, { headers: { 'content-type': 'image/svg+xml' } });",
    ),
  },
  {
    name: 'AWS',
    rule: answer,
    faulty:
      "export const handler = async (event) => ({\n  statusCode: 200,\n  headers: { 'Content-Type': 'text/html' },\n  body: `<p>${event.queryStringParameters.name}</p>`,\n});",
    harmless:
      "export const handler = async (event) => ({\n  statusCode: 200,\n  headers: { 'Content-Type': 'application/json' },\n  body: JSON.stringify({ name: event.queryStringParameters.name }),\n});",
  },
  {
    name: 'headers that are set later',
    rule: answer,
    faulty: checked(
      "const headers = new Headers();\nheaders.set('content-type', 'text/html; charset=utf-8');\nreturn new Response(`<p>${params.get('name')}</p>`, { headers });",
    ),
    harmless: checked(
      "const headers = new Headers();\nheaders.set('content-type', 'text/plain; charset=utf-8');\nreturn new Response(`<p>${params.get('name')}</p>`, { headers });",
    ),
  },
];

const page = 'src/pages/Home.tsx';
const pages: readonly Twins[] = [
  {
    name: 'outerHTML',
    rule: html,
    faulty: "document.querySelector('h1').outerHTML = '<h2>' + decodeURIComponent(location.hash.slice(1)) + '</h2>';",
    harmless: "document.querySelector('h1').textContent = decodeURIComponent(location.hash.slice(1));",
  },
  {
    name: 'a property that is assigned with others',
    rule: html,
    faulty:
      "const box = document.createElement('div');\nObject.assign(box, { className: 'box', innerHTML: new URLSearchParams(location.search).get('text') });",
    harmless:
      "const box = document.createElement('div');\nObject.assign(box, { className: 'box', textContent: new URLSearchParams(location.search).get('text') });",
  },
  {
    name: 'an element without JSX',
    rule: html,
    faulty:
      "export const Post = ({ post }) => createElement('div', { dangerouslySetInnerHTML: { __html: post.body } });",
    harmless: "export const Post = ({ post }) => createElement('div', { title: post.body }, post.body);",
  },
  {
    name: 'properties that are spread',
    rule: html,
    faulty:
      'export function Post({ post }) {\n  const props = { dangerouslySetInnerHTML: { __html: post.body } };\n  return <div {...props} />;\n}',
    harmless:
      'export function Post({ post }) {\n  const props = { dangerouslySetInnerHTML: { __html: DOMPurify.sanitize(post.body) } };\n  return <div {...props} />;\n}',
  },
  {
    name: 'Markdown',
    rule: html,
    faulty: 'export const Post = ({ post }) => <div dangerouslySetInnerHTML={{ __html: marked.parse(post.body) }} />;',
    harmless:
      'export const Post = ({ post }) => <div dangerouslySetInnerHTML={{ __html: DOMPurify.sanitize(marked.parse(post.body)) }} />;',
  },
  {
    name: 'a frame',
    rule: html,
    faulty:
      "const frame = document.querySelector('iframe');\nfetch('/preview').then((r) => r.text()).then((text) => { frame.srcdoc = text; });",
    harmless:
      "const frame = document.querySelector('iframe');\nfetch('/preview').then((r) => r.text()).then((text) => { frame.title = text; });",
  },
  {
    name: 'a directive of Lit',
    rule: html,
    faulty:
      'export class Post extends LitElement {\n  async load() { this.post = await api.get(1); }\n  render() { return html`<p>${unsafeHTML(window.location.hash)}</p>`; }\n}',
    harmless: 'export class Post extends LitElement {\n  render() { return html`<p>${window.location.hash}</p>`; }\n}',
  },
  {
    name: 'a list that is put together',
    rule: html,
    faulty:
      "async function show() {\n  const rows = await (await fetch('/rows')).json();\n  let text = '<ul>';\n  for (const row of rows) text += `<li>${row.name}</li>`;\n  document.querySelector('#list').insertAdjacentHTML('beforeend', text + '</ul>');\n}\nshow();",
    harmless:
      "async function show() {\n  const rows = await (await fetch('/rows')).json();\n  let text = '<ul>';\n  for (const row of rows) text += `<li>${Number(row.total).toFixed(2)}</li>`;\n  document.querySelector('#list').insertAdjacentHTML('beforeend', text + '</ul>');\n}\nshow();",
  },
  {
    name: 'elements of jQuery',
    rule: html,
    faulty:
      "const $list = $('#list');\nfetch('/rows').then((r) => r.json()).then((rows) => { $list.append(`<li>${rows[0].name}</li>`); });",
    harmless:
      "const $list = $('#list');\nfetch('/rows').then((r) => r.json()).then((rows) => { $list.append($('<li>').text(rows[0].name)); });",
  },
  {
    name: 'another window',
    rule: html,
    faulty: "const other = window.open('');\nother.document.write(decodeURIComponent(location.hash));",
    harmless: "const other = window.open('');\nother.document.write('<h1>Preview</h1>');",
  },
  {
    name: 'a part of the app itself',
    rule: html,
    faulty: "fetch('/api/banner').then((r) => r.text()).then((text) => { document.body.innerHTML = text; });",
    harmless:
      "fetch('/partials/banner.html').then((r) => r.text()).then((text) => { document.body.innerHTML = text; });",
  },
  {
    name: 'colours of a theme',
    rule: html,
    faulty: 'export const Card = ({ css }) => <div dangerouslySetInnerHTML={{ __html: css }} />;',
    harmless: 'export const Theme = ({ css }) => <style dangerouslySetInnerHTML={{ __html: css }} />;',
  },
  {
    name: 'an address of a link',
    rule: 'code.xss-link',
    faulty:
      "export function Back() {\n  const [params] = useSearchParams();\n  return <a href={params.get('back') ?? '/'}>Back</a>;\n}",
    harmless:
      "export function Back() {\n  const [params] = useSearchParams();\n  const back = params.get('back') ?? '/';\n  const isWeb = /^https?:\\/\\//.test(back);\n  return <a href={isWeb ? back : '/'}>Back</a>;\n}",
  },
];

const ssrf = 'code.ssrf';
const requests: readonly Twins[] = [
  {
    name: 'a host in the middle',
    rule: ssrf,
    faulty: checked('return fetch(`https://${input.tenant}.api.example/v1/items`);'),
    harmless: checked('return fetch(`https://api.example/v1/${input.tenant}/items`);'),
  },
  {
    name: 'a host without a slash after it',
    rule: ssrf,
    faulty: checked("return fetch('https://api.example' + input.path);"),
    harmless: checked("return fetch('https://api.example' + new URL(request.url).pathname);"),
  },
  {
    name: 'a base that an address replaces',
    rule: ssrf,
    faulty: checked("return fetch(new URL(input.path, 'https://api.example/v1/'));"),
    harmless: checked("return fetch(new URL('items/' + encodeURIComponent(input.path), 'https://api.example/v1/'));"),
  },
  {
    name: 'parts of an address that are set',
    rule: ssrf,
    faulty: checked(
      "const target = new URL('https://api.example/');\ntarget.hostname = input.host;\nreturn fetch(target);",
    ),
    harmless: checked(
      "const target = new URL('https://api.example/');\ntarget.pathname = input.path;\ntarget.searchParams.set('q', input.q);\nreturn fetch(target);",
    ),
  },
  {
    name: 'options of Node',
    rule: ssrf,
    faulty: checked(
      "const options = { hostname: input.host, path: '/status' };\nhttps.get(options, done);",
      "import https from 'node:https';",
    ),
    harmless: checked(
      "const options = { hostname: 'api.example', path: '/status/' + input.host };\nhttps.get(options, done);",
      "import https from 'node:https';",
    ),
  },
  {
    name: 'a client with a base',
    rule: ssrf,
    faulty: checked(
      'return client.get(input.url);',
      "import axios from 'axios';\nconst client = axios.create({ baseURL: 'https://api.example', timeout: 5000 });",
    ),
    harmless: checked(
      'return client.get(`/items/${input.id}`);',
      "import axios from 'axios';\nconst client = axios.create({ baseURL: 'https://api.example', timeout: 5000 });",
    ),
  },
  {
    name: 'options of axios',
    rule: ssrf,
    faulty: checked("return axios({ method: 'get', url: input.url });", "import axios from 'axios';"),
    harmless: checked(
      "return axios({ method: 'get', url: 'https://api.example/items', params: { q: input.url } });",
      "import axios from 'axios';",
    ),
  },
  {
    name: 'a function that takes the method first',
    rule: ssrf,
    faulty: checked("return needle('get', input.url);", "import needle from 'needle';"),
    harmless: checked(
      "return needle('post', 'https://api.example/items', { url: input.url });",
      "import needle from 'needle';",
    ),
  },
  {
    name: 'a part of the address',
    rule: ssrf,
    faulty: checked(
      "if (!input.url.includes('api.example')) return new Response(null, { status: 422 });\nreturn fetch(input.url);",
    ),
    harmless: checked(
      "if (new URL(input.url).host !== 'api.example') return new Response(null, { status: 422 });\nreturn fetch(input.url);",
    ),
  },
  {
    name: 'an ending of the host',
    rule: ssrf,
    faulty: checked(
      "const { hostname } = new URL(input.url);\nif (!hostname.endsWith('api.example')) return new Response(null, { status: 422 });\nreturn fetch(input.url);",
    ),
    harmless: checked(
      "const { hostname } = new URL(input.url);\nif (!hostname.endsWith('.api.example')) return new Response(null, { status: 422 });\nreturn fetch(input.url);",
    ),
  },
  {
    name: 'a list of what is refused',
    rule: ssrf,
    faulty: checked(
      "const { hostname } = new URL(input.url);\nif (['localhost', '127.0.0.1'].includes(hostname)) return new Response(null, { status: 422 });\nreturn fetch(input.url);",
    ),
    harmless: checked(
      "const { hostname } = new URL(input.url);\nif (!['a.example', 'b.example'].includes(hostname)) return new Response(null, { status: 422 });\nreturn fetch(input.url);",
    ),
  },
  {
    name: 'a check of the protocol',
    rule: ssrf,
    faulty: checked(
      "const target = new URL(input.url);\nif (target.protocol !== 'https:') return new Response(null, { status: 422 });\nreturn fetch(target);",
    ),
    harmless: checked(
      "const target = new URL(input.url);\nif (target.protocol !== 'https:' || target.host !== 'api.example') return new Response(null, { status: 422 });\nreturn fetch(target);",
    ),
  },
  {
    name: 'a check of another value',
    rule: ssrf,
    faulty: checked(
      'if (!sites.has(input.site)) return new Response(null, { status: 422 });\nreturn fetch(input.url);',
      "const sites = new Set(['a', 'b']);",
    ),
    harmless: checked(
      'if (!sites.has(input.site)) return new Response(null, { status: 422 });\nreturn fetch(`https://${input.site}.example/`);',
      "const sites = new Set(['a', 'b']);",
    ),
  },
  {
    name: 'a check that returns a value',
    rule: ssrf,
    faulty: checked(
      'return fetch(allowed(input.url));',
      'function allowed(text) {\n  const url = new URL(text);\n  if (!url.hostname) throw new Error("host");\n  return url;\n}',
    ),
    harmless: checked(
      'return fetch(allowed(input.url));',
      'const hosts = ["a.example"];\nfunction allowed(text) {\n  const url = new URL(text);\n  if (!hosts.includes(url.hostname)) throw new Error("host");\n  return url;\n}',
    ),
  },
  {
    name: 'a page that is opened on the server',
    rule: ssrf,
    faulty: checked(
      "const page = await browser.newPage();\nawait page.goto(params.get('url'));\nreturn new Response(await page.pdf());",
    ),
    harmless: checked(
      "const page = await browser.newPage();\nawait page.goto('https://shop.example/print?id=' + params.get('id'));\nreturn new Response(await page.pdf());",
    ),
  },
  {
    name: 'a feed',
    rule: ssrf,
    faulty: checked(
      'return Response.json(await new Parser().parseURL(input.feed));',
      "import Parser from 'rss-parser';",
    ),
    harmless: checked(
      'return Response.json(await new Parser().parseString(input.feed));',
      "import Parser from 'rss-parser';",
    ),
  },
  {
    name: 'a function that pages call',
    rule: ssrf,
    faulty: "'use server';\nexport async function preview(form) {\n  return (await fetch(form.get('url'))).text();\n}",
    harmless:
      "'use server';\nexport async function preview(form) {\n  return (await fetch('https://api.example/?q=' + form.get('url'))).text();\n}",
  },
  {
    name: 'a socket',
    rule: ssrf,
    faulty: checked('net.connect(Number(input.port), input.host);', "import net from 'node:net';"),
    harmless: checked("net.connect(Number(input.port), 'db.internal');", "import net from 'node:net';"),
  },
];

const functions = { path: 'functions/f.ts' };
describe('statements from the request', () => testTwins(statements, functions));
describe('commands and code from the request', () => testTwins(commands, functions));
describe('HTML answers from the request', () => testTwins(answers, functions));
describe('HTML of a page', () => testTwins(pages, { path: page }));
describe('addresses from the request', () => testTwins(requests, functions));
