/**
 * Connections that the kernel accepts for a server whose event loop is busy. When there are more, it drops the packets
 * of new clients, which try again after one, three and seven seconds. Go's servers use the limit of the kernel
 * (`net.core.somaxconn`), which is 4,096 by default and limits this number too; Node.js's default is 511.
 */
export const listenBacklog = 4096;
