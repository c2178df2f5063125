package org.apache.spark.api.python;

import java.util.concurrent.CountDownLatch;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;

/** Stands for Spark 3.5's {@code BasePythonRunner$WriterThread}: known by its class's name and its TaskContext. */
public class BasePythonRunnerOfTest extends Thread {
    private final TaskContext context;
    private final CountDownLatch end = new CountDownLatch(1);

    public BasePythonRunnerOfTest(TaskContext context) {
        super("stdout writer for python3");
        this.context = context;
    }

    @Override
    public void run() {
        TaskContext$.MODULE$.setTaskContext(context);
        try {
            end.await();
        } catch (InterruptedException e) {
            return;
        }
    }

    public void end() throws InterruptedException {
        end.countDown();
        join();
    }
}
