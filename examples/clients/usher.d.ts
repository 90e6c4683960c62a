// SPDX-License-Identifier: MIT
// The types of usher.js for TypeScript.
import { EventEmitter } from 'events';

export type Word = string | number | bigint;
export type Options = { [key: string]: Word | undefined };
/** The answer to a command: `usher help NOUN VERB` lists its keys. */
export interface Answer {
    status: string;
    epoch: string;
    version: number;
    due: number | null;
    now?: number;
    repeated?: boolean;
    [key: string]: any;
}
/** A notice, or with `gap` a message that notices are missing. */
export interface Message {
    scope: string;
    epoch: string;
    version: number | null;
    verb?: string;
    subject?: string | null;
    from?: string | null;
    to?: string | null;
    data?: { [name: string]: any } | null;
    owner?: string | null;
    time?: number;
    gap?: true;
    why?: 'log' | 'lost' | 'new' | 'gone';
    before?: number;
    [key: string]: any;
}
export class UsherError extends Error {
    /** INVALID, UNAVAILABLE, UNKNOWN, LOST, NOMEM, or the first word of another error. */
    kind: string;
}
export interface Subscription {
    readonly scope: string;
    readonly since: number;
    readonly epoch: string | null;
}
export class Usher {
    constructor(address: string | { port: number; host?: string; password?: string }, options?: { password?: string; timeout?: number });
    call(...words: (Word | Options)[]): Promise<Answer>;
    again(...words: (Word | Options)[]): Promise<Answer>;
    once(...words: (Word | Options)[]): Promise<Answer>;
    subscribe(scope: string, fn: (message: Message) => void, position?: { since?: number | null; epoch?: string | null }): Promise<Subscription>;
    unsubscribe(subscription: Subscription): void;
    room(name: string): Promise<Room>;
    ids(name: string, n?: number): Ids;
    close(): void;
}
export class Room extends EventEmitter {
    readonly name: string;
    readonly state: 'open' | 'locked' | 'closing' | 'closed';
    readonly epoch?: string;
    readonly version: number;
    readonly fields: { [field: string]: string };
    readonly all: { [field: string]: string };
    readonly roles: { [role: string]: string };
    readonly members: { [member: string]: { state: 'here' | 'away' | 'offline'; since: number; fields: { [field: string]: string } } };
    readonly shares: { [share: string]: { member: string; fields: { [field: string]: string } } };
    on(event: 'change', listener: (notice: Message) => void): this;
    on(event: 'read' | 'close', listener: () => void): this;
    close(): void;
}
export class Ids {
    next(): Promise<bigint>;
}
