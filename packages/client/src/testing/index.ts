export { type Answer, type FakeRequest, FakeServer, type Handler, type Reply } from './fake-server.ts';
