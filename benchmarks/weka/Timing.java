// Microseconds of CPU time a row that Weka takes to fit and to predict: java -cp weka.jar Timing.java FILE ROWS COLUMNS VALUES...
// FILE holds one byte a cell, row after row, the class last; VALUES are the numbers of values of each column and of the class.
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Paths;
import weka.classifiers.Classifier;
import weka.classifiers.bayes.AODE;
import weka.classifiers.bayes.BayesNet;
import weka.core.Attribute;
import weka.core.FastVector;
import weka.core.Instance;
import weka.core.Instances;

public class Timing {
    static double now() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() / 1e3;
    }

    public static void main(String[] args) throws Exception {
        byte[] cells = Files.readAllBytes(Paths.get(args[0]));
        int rows = Integer.parseInt(args[1]), columns = Integer.parseInt(args[2]) + 1;
        FastVector attributes = new FastVector();
        for (int j = 0; j < columns; j++) {
            FastVector values = new FastVector();
            for (int v = 0; v < Integer.parseInt(args[3 + j]); v++) values.addElement("v" + v);
            attributes.addElement(new Attribute("c" + j, values));
        }
        Instances data = new Instances("data", attributes, rows);
        data.setClassIndex(columns - 1);
        for (int i = 0; i < rows; i++) {
            double[] row = new double[columns];
            for (int j = 0; j < columns; j++) row[j] = cells[i * columns + j];
            data.add(new Instance(1.0, row));
        }
        BayesNet tan = new BayesNet();
        tan.setSearchAlgorithm(new weka.classifiers.bayes.net.search.local.TAN());
        for (Classifier model : new Classifier[] {new AODE(), tan}) {
            double fit = Double.MAX_VALUE, predict = Double.MAX_VALUE;
            for (int round = 0; round < 2; round++) {
                double start = now();
                model.buildClassifier(data);
                fit = Math.min(fit, now() - start);
                start = now();
                for (int i = 0; i < rows; i++) model.distributionForInstance(data.instance(i));
                predict = Math.min(predict, now() - start);
            }
            System.out.println(model.getClass().getSimpleName() + " " + fit / rows + " " + predict / rows);
        }
    }
}
