import { expect, test, vi } from "vitest";
import { tell } from "./listener.ts";

test("a listener is told, and one that throws or rejects fails nobody", async () => {
  const failed = vi.fn();
  const heard: string[] = [];
  tell((event: string) => void heard.push(event), "news", failed);
  expect(heard).toEqual(["news"]);
  tell(undefined, "news", failed);
  expect(failed).not.toHaveBeenCalled();
  const thrown = new Error("thrown");
  tell(
    () => {
      throw thrown;
    },
    "news",
    failed,
  );
  expect(failed).toHaveBeenLastCalledWith(thrown);
  const rejected = new Error("rejected");
  tell(() => Promise.reject(rejected), "news", failed);
  await vi.waitFor(() => expect(failed).toHaveBeenLastCalledWith(rejected));
  // Without somebody to tell, too.
  tell(() => {
    throw thrown;
  }, "news");
});
