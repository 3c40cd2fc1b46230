// Owns reading the script of Scalar, which shows an OpenAPI document as a page. Its package for Fastify contains the script
// only as an answer of its plugin; the package with the script alone brings 270 MB.
import Fastify from 'fastify';

export async function readScalarScript(): Promise<Buffer> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const server = Fastify();
  try {
    await server.register(scalar, { routePrefix: '/docs', configuration: { url: '/openapi.json' } });
    return (await server.inject('/docs/js/scalar.js')).rawPayload;
  } finally {
    await server.close();
  }
}
