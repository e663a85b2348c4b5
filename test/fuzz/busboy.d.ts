declare module "busboy" {
  import type { Readable, Writable } from "node:stream";

  interface FileInfo {
    readonly filename: string | undefined;
    readonly encoding: string;
    readonly mimeType: string;
  }
  interface FieldInfo {
    readonly nameTruncated: boolean;
    readonly valueTruncated: boolean;
    readonly encoding: string;
    readonly mimeType: string;
  }
  interface Busboy extends Writable {
    on(event: "file", listener: (name: string | undefined, stream: Readable, info: FileInfo) => void): this;
    on(event: "field", listener: (name: string | undefined, value: string, info: FieldInfo) => void): this;
    on(event: "close", listener: () => void): this;
    on(event: "error", listener: (error: Error) => void): this;
    on(event: string, listener: (...values: never[]) => void): this;
  }
  export default function busboy(options: {
    readonly headers: Readonly<Record<string, string>>;
    readonly defParamCharset?: string;
    readonly defCharset?: string;
    readonly preservePath?: boolean;
    readonly limits?: Readonly<Record<string, number>>;
  }): Busboy;
}
